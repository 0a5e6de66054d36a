import { BoundedMap } from '../../base/bounded-map.ts';
import type { FailureReporter } from '../../base/failures.ts';
import { asksForSummary } from '../compactions/asks-for-summary.ts';
import type { ProviderEdits, Step } from '../ports/segments.ts';
import { collectedRequest, stepAt } from './collect.ts';
import type { ReadRequest } from './request.ts';

/** Pseudo segment id for the provider's own clearing in directives. */
const PROVIDER_EDIT = 'context_management';
const MAX_CONVERSATIONS = 10_000;

/**
 * Decides whether a request gets the field that lets the provider clear old results. Once a conversation has it, all of
 * its requests get it regardless of the settings, because the provider's cache depends on it.
 */
export class ProviderEditStage {
  readonly #edits: ProviderEdits;
  readonly #onFailure: FailureReporter;
  /** Known beginnings of conversations with the field, for when the store is unavailable. */
  readonly #known = new BoundedMap<string, Step>(MAX_CONVERSATIONS);

  constructor(edits: ProviderEdits, onFailure: FailureReporter) {
    this.#edits = edits;
    this.#onFailure = onFailure;
  }

  /** Whether the field is added to a request. Never rejects. */
  async run(request: ReadRequest): Promise<boolean> {
    if (!mayHaveField(request)) return false;
    try {
      const hasField = this.fromMemory(request) || (await this.#begins(request));
      return hasField && !(await this.#edits.isRefused(request.read.model));
    } catch (cause) {
      this.#onFailure('not_collected', cause);
      return this.fromMemory(request);
    }
  }

  /** Like `run`, without the store: the field is never added for the first time. */
  fromMemory(request: ReadRequest): boolean {
    if (!mayHaveField(request)) return false;
    const { state, steps, read } = request;
    const key = keyOf(request);
    if (steps.scopes.size > 0 && state.directives.of(PROVIDER_EDIT, 0, steps.scopes) === 'aside') {
      const step = state.directives.stepsOf(read.conversationId).find(({ scope }) => steps.scopes.has(scope));
      if (step) this.#known.set(key, step);
      return true;
    }
    const known = this.#known.get(key);
    return known !== undefined && read.prefixes[known.messages - 1] === known.scope;
  }

  async #begins(request: ReadRequest): Promise<boolean> {
    const { policy, body, read } = request;
    if (policy.newTexts !== 'prune') return false;
    const collected = collectedRequest(request);
    const step = stepAt(request);
    if (step === null || !this.#edits.mayBegin(collected) || asksForSummary(body, read)) return false;
    if (await this.#edits.isRefused(read.model)) return false;
    const directive = { segment: PROVIDER_EDIT, action: 'aside', scope: step.scope, upTo: -1 } as const;
    const begins = await this.#edits.begin(collected, step, directive);
    if (begins) this.#known.set(keyOf(request), step);
    return begins;
  }

  /** Records that the upstream refused the field for a model. Never rejects. */
  async refused(model: string): Promise<void> {
    await this.#edits.noteRefused(model).catch((cause: unknown) => this.#onFailure('not_collected', cause));
  }
}

/**
 * Whether a request may have the field: only at Anthropic's own API, and not if the client manages the context itself
 * or uses a subscription.
 */
function mayHaveField({ dialect, sender, read }: ReadRequest): boolean {
  if (dialect.name !== 'messages' || sender?.toAnthropic !== true) return false;
  return !sender.isSubscription && read.scanned.managesContext !== true;
}

function keyOf({ scope, read }: Pick<ReadRequest, 'scope' | 'read'>): string {
  return `${read.conversationId} ${scope.project}`;
}
