import type { Finding } from '../../app/finding.ts';
import type { PageAccess } from '../../app/page/access.ts';
import type { Answer } from '../../app/page/answers.ts';
import type { FailureReporter } from '../../base/failures.ts';
import type { Pruner } from '../../core/calls/api.ts';
import type { BrowseStore } from '../../core/ports/browse.ts';
import type { ColdStashReport } from '../../core/ports/cold-report.ts';
import type { ContextReport, Threshold } from '../../core/ports/context-report.ts';
import type { LedgerReader } from '../../core/ports/ledger-report.ts';
import type { PrefixBreakReport } from '../../core/ports/prefix-breaks.ts';
import type { ProjectSettingsStore } from '../../core/ports/project-settings.ts';
import type { Records } from '../../core/ports/records.ts';
import type { SegmentStore } from '../../core/ports/segments.ts';
import type { ShelfStore } from '../../core/ports/shelf.ts';
import type { Clock, Store } from '../../core/ports.ts';
import type { Recall } from '../../core/recall/recall.ts';
import type { SavingAlarm } from '../../core/saving-alarm.ts';
import type { ContextGc } from '../../gc/context-gc.ts';
import type { readThreshold } from '../../ledger/compactions.ts';
import type { SentAs, SettingShown } from './shapes.ts';

/** The parts from which the page is built. */
export interface PageParts {
  readonly access: PageAccess;
  readonly version: string;
  readonly clock: Clock;
  readonly store: Store & {
    readonly segments: SegmentStore;
    readonly records: Records;
    readonly browse: BrowseStore;
    readonly shelf: ShelfStore;
    readonly projectSettings: Pick<ProjectSettingsStore, 'current' | 'history'>;
  };
  /** Writes pending observations of requests to the store. */
  readonly flush: () => Promise<void>;
  /** Calls back when this process has written events, until the returned function is called. */
  readonly onWritten: (listener: () => void) => () => void;
  readonly pruner: Pick<Pruner, 'recover'>;
  readonly contextGc: Pick<ContextGc, 'prune' | 'pin' | 'unpin'>;
  readonly ledger: LedgerReader;
  /** The active alarm that nothing is saved, or `null`. */
  readonly savingAlarm: () => SavingAlarm | null;
  /** Compactions and pauses since a day. May reject with `StoreUnavailable`. */
  readonly contexts: (query: { readonly sinceDay: string; readonly project?: string }) => Promise<ContextReport>;
  /** What was put aside at cold moments since a day. May reject with `StoreUnavailable`. */
  readonly coldStash: (query: { readonly sinceDay: string; readonly project?: string }) => Promise<ColdStashReport>;
  readonly boldness: string;
  /** What providers reported about changed history since a day. May reject with `StoreUnavailable`. */
  readonly prefixBreaks: (query: {
    readonly sinceDay: string;
    readonly project?: string;
  }) => Promise<PrefixBreakReport>;
  /** The length at which a client compacts; `null` if it is unknown. May reject with `StoreUnavailable`. */
  readonly threshold: (of: Parameters<typeof readThreshold>[1]) => Promise<Threshold | null>;
  readonly recall: Pick<Recall, 'search'>;
  /** The project to search if none is given. */
  readonly project: string;
  /** Whether the first words of conversations are kept. */
  readonly keepsTitles: boolean;
  readonly health: () => object;
  readonly settings: () => readonly SettingShown[];
  readonly warnings: readonly string[];
  /** The settings of the store. */
  readonly limits: { readonly maxBytes: number; readonly ttlS: number; readonly place: string };
  readonly sent: SentAs;
  /** Runs the checks of `mcp-pruner doctor`; `null` if they are not available. */
  readonly doctor: (() => Promise<readonly Finding[]>) | null;
  /** Readings of optional parts; `null` if a part is off. */
  readonly partReadings: Readonly<Record<string, Answer | null>>;
  /** Actions of the optional parts that are on. */
  readonly partActions: Readonly<Record<string, Answer>>;
  /** Fires when the server stops. */
  readonly stopping: AbortSignal;
  readonly onFailure: FailureReporter;
}
