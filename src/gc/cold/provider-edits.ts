import type { Records } from '../../core/ports/records.ts';
import type { CollectedRequest, Directive, ProviderEdits, Step } from '../../core/ports/segments.ts';
import { type StepOptions, segmentsEvent } from '../take-step.ts';
import type { ColdMoments } from './cold-moments.ts';
import type { ColdStashSetting } from './cold-stash.ts';

export interface ProviderEditOptions extends StepOptions {
  readonly moments: ColdMoments;
  readonly records: Pick<Records, 'claimReply' | 'keepReply' | 'dropReply'>;
  readonly settingOf: (project: string) => ColdStashSetting;
  /** Origin of the upstream. */
  readonly upstream: string;
}

/** Name under which refusals are stored among the tool replies. */
const TOOL = 'context_management';
const REFUSED = 'refused';
/** How long a refused field is not sent again. */
const REFUSED_MS = 30 * 86_400_000;
/** Interval of checks for refusals seen by other processes. */
const TRUST_MS = 10 * 60_000;

/** Lets a provider that verifies the history clear old results while its cache is cold. */
export class ColdProviderEdits implements ProviderEdits {
  readonly #options: ProviderEditOptions;
  /** By model: whether the field was refused, and until when this is cached. */
  readonly #refused = new Map<string, { readonly refused: boolean; readonly untilMs: number }>();

  constructor(options: ProviderEditOptions) {
    this.#options = options;
  }

  mayBegin(request: CollectedRequest): boolean {
    const { settingOf, moments } = this.#options;
    return settingOf(request.scope.project) === 'provider' && moments.mayBe(request);
  }

  async begin(request: CollectedRequest, step: Step, directive: Directive): Promise<boolean> {
    const { moments, store, events, clock, onStep, onFailure } = this.#options;
    const { conversationId, scope, tokens } = request;
    const { project, requestId } = scope;
    const why = await moments.causeOf(request);
    if (why === null) return false;
    await store.change({ project, set: [directive], clear: [], step });
    const reason = { by: 'provider', why } as const;
    onStep({ requestId, project, conversationId, ...reason, segments: 0, tokensBefore: tokens, tokensAfter: tokens });
    const about = { tsMs: clock.nowMs(), kind: 'stashed', runId: conversationId, opId: requestId || null };
    const event = segmentsEvent(about, { project, ...reason }, [], {});
    await events.addEvents([event]).catch((cause: unknown) => onFailure('event_not_kept', cause));
    return true;
  }

  async isRefused(model: string): Promise<boolean> {
    const { records, clock } = this.#options;
    const nowMs = clock.nowMs();
    const known = this.#refused.get(model);
    if (known && nowMs < known.untilMs) return known.refused;
    const key = this.#keyOf(model);
    const claimed = await records.claimReply(TOOL, key, '', TRUST_MS);
    if (claimed === null) await records.dropReply(TOOL, key, false);
    const refused = claimed?.text === REFUSED;
    this.#refused.set(model, { refused, untilMs: nowMs + TRUST_MS });
    return refused;
  }

  async noteRefused(model: string): Promise<void> {
    const { records, clock } = this.#options;
    this.#refused.set(model, { refused: true, untilMs: clock.nowMs() + REFUSED_MS });
    await records.keepReply(TOOL, this.#keyOf(model), '', REFUSED, REFUSED_MS);
  }

  #keyOf(model: string): string {
    return `${this.#options.upstream}\n${model}`;
  }
}
