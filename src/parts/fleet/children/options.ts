import type { FailureReporter } from '../../../base/failures.ts';
import type { ExchangeUsage } from '../../../core/ports/exchange-usage.ts';
import type { Clock } from '../../../core/ports.ts';
import type { FleetStore } from '../ports.ts';
import type { Environment } from './environment.ts';
import type { Ceilings } from './limits.ts';
import type { Places } from './places.ts';
import type { Processes } from './processes.ts';

/** How to start a named agent with one prompt. */
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
  /** The id of this server. */
  readonly instanceId: string;
  readonly pid: number;
  /** Base URL at which children reach this server, without a path. */
  readonly url: () => string;
  /** Parent folder of all children's private files. */
  readonly folder: string;
  /** The server's own environment. */
  readonly env: Environment;
  /** Further server variables that children inherit. */
  readonly handedOn: readonly string[];
  /** Further variables that a call may set. */
  readonly settable: readonly string[];
  readonly maxChildren: number;
  readonly graceMs: number;
  readonly ceilings: Ceilings;
  /** @returns `null` for an unknown agent */
  readonly launch: (
    agent: string,
    request: {
      readonly url: string;
      readonly token: string;
      readonly prompt: string;
      readonly model: string | null;
      readonly folder: string;
    },
  ) => AgentLaunch | null;
  /** Cost of a request in dollars; `null` if its model has no known price. */
  readonly costOf: (usage: ExchangeUsage) => number | null;
  readonly onFailure: FailureReporter;
}

/** Maximum number of records that are kept and scanned. */
export const MAX_RECORDS = 1_000;
