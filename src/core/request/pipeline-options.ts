import type { FailureReporter } from '../../base/failures.ts';
import type { WriteBehind } from '../../base/write-behind.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import type { DecisionMaker } from '../decide/decision-maker.ts';
import type { Turns } from '../decide/turns.ts';
import type { Ownership } from '../ownership.ts';
import type { KeptAnswers } from '../ports/answers.ts';
import type { SegmentPorts } from '../ports/segments.ts';
import type { Traces } from '../ports/traces.ts';
import type { Clock, Store } from '../ports.ts';
import type { OwnRecords } from '../sent/records.ts';
import type { ShortTools } from '../sent/short-tools.ts';
import type { FindSettings } from './found-text.ts';
import type { RefusedConversations } from './provider-verdicts.ts';

export interface PipelineOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly decisions: DecisionMaker;
  readonly find: FindSettings;
  /** Find settings of a project with settings of its own. Default: the server's settings (`find`). */
  readonly findOf?: ((project: string, usual: FindSettings) => FindSettings) | undefined;
  readonly render: RenderOptions;
  readonly refused: RefusedConversations;
  /** Whether a conversation belongs to the control group, which is not pruned. */
  readonly isHeldOut?: (shownId: string, project: string) => boolean;
  /** Whether new conversations of a project may belong to the control group. */
  readonly mayHoldOut?: (project: string) => boolean;
  /** Whether a conversation was stored under this name before the process started. */
  readonly isKnownConversation?: ((project: string, name: string) => boolean) | undefined;
  /** Directives and observers of segments. If absent, segments are disabled. */
  readonly segments?: SegmentPorts;
  /** Repeats the shortened tools of conversations of earlier versions. */
  readonly shortTools?: Pick<ShortTools, 'ready' | 'has' | 'editsOf' | 'isEmpty'> | undefined;
  /** Persists the conversations behind answers that the provider stores, so that they survive a restart. */
  readonly answers?: KeptAnswers;
  /** Present if originals belong to projects. */
  readonly owners?: Ownership;
  /** Records of sent messages in a file of this process. Absent if the store itself is a file. */
  readonly ownRecords?: OwnRecords | undefined;
  /** Shared write-behind queue. Default: a separate one. */
  readonly behind?: WriteBehind | undefined;
  readonly onFailure: FailureReporter;
  /** Memory limit for remembered bodies, in bytes. */
  readonly memoBytes: number;
  /** Scheduler shared by all long-running work on this thread. */
  readonly turns?: Turns;
  readonly traces?: Traces | undefined;
}
