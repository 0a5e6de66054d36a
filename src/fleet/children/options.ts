import type { ChildRequestUsage } from '../../core/ports/child-gate.ts';
import type { FleetStore } from '../../core/ports/fleet.ts';
import type { Clock } from '../../core/ports.ts';
import type { FailureReporter } from '../../failures.ts';
import type { Environment } from './environment.ts';
import type { Ceilings } from './limits.ts';
import type { Places } from './places.ts';
import type { Processes } from './processes.ts';

/** How an agent known by name is started for one prompt. */
export interface AgentLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

export interface ChildrenOptions {
  readonly store: FleetStore;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly places: Places;
  readonly newId: () => string;
  /** 128 random bits in hex. */
  readonly newToken: () => string;
  /** Of this server. */
  readonly instanceId: string;
  readonly pid: number;
  /** Where children reach this server, without a path. */
  readonly url: () => string;
  /** Folder of the private files of all children. */
  readonly folder: string;
  /** The server's own environment. */
  readonly env: Environment;
  /** Variables of it that are handed on beside the usual ones. */
  readonly handedOn: readonly string[];
  /** Further variables that a call may set. */
  readonly settable: readonly string[];
  readonly maxChildren: number;
  readonly graceMs: number;
  readonly ceilings: Ceilings;
  /** @returns `null` for a name that no wired agent has */
  readonly launch: (
    agent: string,
    asked: {
      readonly url: string;
      readonly token: string;
      readonly prompt: string;
      readonly model: string | null;
      readonly folder: string;
    },
  ) => AgentLaunch | null;
  /** What a request cost in dollars; `null` without a price for its model. */
  readonly costOf: (usage: ChildRequestUsage) => number | null;
  readonly onFailure: FailureReporter;
}

/** Records that are kept, and looked through, at the most. */
export const MAX_RECORDS = 1_000;
