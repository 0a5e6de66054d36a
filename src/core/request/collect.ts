import type { FailureReporter } from '../../base/failures.ts';
import { type Work, waitFor } from '../../base/work.ts';
import { countLines } from '../../engine/text/lines.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { ScannedText } from '../../wires/dialects/dialect.ts';
import { ownWords } from '../../wires/transcript/file-blocks.ts';
import { asksForSummary } from '../compactions/asks-for-summary.ts';
import { keptId } from '../kept-text.ts';
import type {
  CollectedRequest,
  Collector,
  DirectivesView,
  OverTokenBudget,
  SeenArgument,
  SeenRequest,
  SegmentPorts,
  Step,
} from '../ports/segments.ts';
import { SeenMessages } from '../seen/reader.ts';
import { applyDirectives } from '../segments/apply-directives.ts';
import { argumentsIn } from '../segments/arguments.ts';
import { type DecidedSegments, seenRequest } from '../segments/describe.ts';
import { ofVerifiedHistory } from '../segments/verified-history-project.ts';
import type { KnownHistory } from '../sent/history.ts';
import type { FindSettings, FoundText } from './found-text.ts';
import { checksumsOf } from './head-sums.ts';
import { requestTokens } from './message-tokens.ts';
import type { Binding } from './policy.ts';
import { CHECKPOINTS } from './read.ts';
import type { PersistedRequest, ReadRequest } from './request.ts';

/** Runs one step of context GC if it wants to stash part of the conversation. */
export class CollectStage {
  readonly #collector: Collector | undefined;
  readonly #find: FindSettings;
  readonly #onFailure: FailureReporter;

  constructor(ports: SegmentPorts, find: FindSettings, onFailure: FailureReporter) {
    this.#collector = ports.collector;
    this.#find = find;
    this.#onFailure = onFailure;
  }

  /**
   * @param rerunWhole - runs the whole request through the pipeline again, ignoring remembered messages
   * @returns whether a collector stashed something, so that the request must be processed once more
   */
  *run(persisted: PersistedRequest, rerunWhole: () => Work<PersistedRequest | null>): Work<boolean> {
    const { binding, read, body } = persisted.request;
    // nothing may be stashed if the provider verifies the history
    if (this.#collector === undefined) return false;
    const size = this.#sizeOf(persisted);
    if (binding === 'verified') {
      this.#collector.refused(size);
      return false;
    }
    const collect = this.#collector.stepFor(size);
    const step = stepAt(persisted.request);
    // a client's summary request must stay complete
    if (collect === null || step === null || asksForSummary(body, read)) return false;
    const all = read.first > 0 ? yield* rerunWhole() : persisted;
    if (all === null) return false;
    try {
      const { scope, tokens, bytes, wire, head, nowMs } = size;
      const collected = collect({
        ...{ scope, tokens, bytes, wire, head, nowMs, step },
        ...lastAsked(this.#seen(all)),
        seenArguments: () => this.#arguments(all),
        messageAt: (ordinal) => messageAt(persisted, ordinal),
        shareFrom: sharesOf(persisted),
      });
      return yield* waitFor(collected);
    } catch (cause) {
      this.#onFailure('not_collected', cause);
      return false;
    }
  }

  /** Whether a conversation exceeds its token budget but must not be stashed. */
  isStuckOverBudget(persisted: PersistedRequest): boolean {
    if (persisted.request.binding !== 'verified' || this.#collector?.counts !== true) return false;
    return this.#collector.isOver(this.#sizeOf(persisted));
  }

  #seen(persisted: PersistedRequest): SeenRequest {
    const decided = decidedSegments(persisted);
    const messages = new SeenMessages(persisted.request.read, decided, this.#find);
    return seenRequest(decided, (index) => messages.at(index).segments);
  }

  #arguments({ request }: PersistedRequest): SeenArgument[] {
    const { binding, read, state, steps } = request;
    const directives = viewFor(binding, state.directives);
    const { neverPruneTool, neverPrunePath } = this.#find;
    return read.messages.flatMap((message, i) =>
      argumentsIn(read.texts, message, i).map(({ id, text, textHash, callId, tool, files }): SeenArgument => {
        const exempt = neverPruneTool(tool) || files.some((path) => neverPrunePath(path));
        const directed = directives.of(id, i, steps.scopes);
        const size = { tokens: estimateTokens(text), lines: countLines(text) };
        return { id, text, ordinal: i, ...size, callId, files, pruneId: keptId(textHash), exempt, directed };
      }),
    );
  }

  #sizeOf({ request, spliced }: PersistedRequest): CollectedRequest {
    const { body, read } = request;
    const tokens = this.#collector?.counts ? requestTokens(body, read.messages, read.tokens, spliced.outcomes) : 0;
    return collectedRequest(request, spliced.body.length, tokens);
  }
}

/** Builds a collector's view of a request. */
export function collectedRequest(
  { body, dialect, read, scope, state }: ReadRequest,
  bytes: number,
  tokens = 0,
): CollectedRequest {
  const { messages, shownId: conversationId, scanned, model } = read;
  const { outside, previous } = scanned;
  return {
    head: () => ({ model, ...checksumsOf({ received: body, outside, messages, previous }) }),
    ...{ scope, conversationId, messages: messages.length, wire: dialect.name, nowMs: state.now, tokens, bytes },
  };
}

/** A request, and the index of the message with the user's last words. */
function lastAsked(request: SeenRequest): Pick<OverTokenBudget, 'request' | 'asked'> {
  const asked = request.segments.findLast(({ effect, text }) => effect === 'asked' && ownWords(text, []).trim() !== '');
  return { request, asked: asked?.ordinal ?? -1 };
}

/** The step that would be taken at a request; `null` if it has too few messages. */
function stepAt({ read }: Pick<ReadRequest, 'read'>): Step | null {
  const messages = read.messages.length - CHECKPOINTS; // clients may still change the last messages
  const scope = read.prefixes[messages - 1];
  return scope === undefined ? null : { scope, conversation: read.conversationId, messages };
}

function messageAt({ request: { body, read } }: PersistedRequest, ordinal: number): unknown {
  const span = read.messages[ordinal]?.span;
  return span && JSON.parse(body.toString('utf8', span.start, span.end));
}

/** A processed request, in the form needed to describe its segments. */
function decidedSegments({ request, decisions }: PersistedRequest): DecidedSegments {
  const { binding, read, found, steps, scope, state } = request;
  const { texts, messages, first, callOf, shownId: conversationId } = read;
  const directives = viewFor(binding, state.directives);
  const decisionOf: DecidedSegments['decisionOf'] = (text) => decisions.get(text) ?? null;
  return { texts, messages, first, found, callOf, decisionOf, conversationId, steps, scope, directives };
}

/** For each message, its and all later messages' share of the body's bytes, 0..1. */
function sharesOf({ request: { body, read } }: PersistedRequest): (ordinal: number) => number {
  const end = read.messages.at(-1)?.span.end ?? 0;
  return (ordinal) => (end - (read.messages[ordinal]?.span.start ?? end)) / Math.max(1, body.length);
}

/**
 * Applies the project's directives to a request: pinned texts stay whole; stashed and deleted texts are replaced by a
 * marker.
 *
 * @param language - language of the reasons in markers
 */
export function directRequest(
  request: ReadRequest,
  known: KnownHistory,
  language: ReasonLanguage | undefined,
): ReadRequest {
  const { binding, state, read, scope, steps } = request;
  const directives = viewFor(binding, state.directives);
  if (directives.empty) return withHistory(request, known, known.found);
  const { messages, first, callOf } = read;
  const toolOf = (text: ScannedText): string => (text.use === 'result' ? (callOf(text)?.name ?? text.name) : '');
  const keepsSent = binding === 'verified';
  const texts = { messages, first, found: known.found, toolOf, sent: known.sent, keepsSent };
  return withHistory(request, known, applyDirectives(read.texts, texts, scope.project, directives, steps, language));
}

/** Fields are listed explicitly: adding a field to a spread object is about ten times slower. */
function withHistory(request: ReadRequest, known: KnownHistory, found: readonly FoundText[]): ReadRequest {
  const { body, dialect, scope, signal, onRead, sender, policy, binding, state, read, steps } = request;
  return { body, dialect, scope, signal, onRead, sender, policy, binding, state, read, steps, known, found };
}

/**
 * Directives that apply to a request. If the provider verifies the history, only pins of new texts apply, because sent
 * texts must not change.
 */
export function viewFor(binding: Binding, directives: DirectivesView): DirectivesView {
  if (binding !== 'verified' || directives.empty) return directives;
  const of: DirectivesView['of'] = (...about) => (directives.of(...about) === 'pin' ? 'pin' : null);
  return { version: directives.version, empty: false, stepsOf: (id) => directives.stepsOf(id), of };
}

/** A processed request, in the form in which its segments are recorded. */
export function segmentsOf(persisted: PersistedRequest): DecidedSegments {
  const decided = decidedSegments(persisted);
  return persisted.request.binding === 'verified' ? ofVerifiedHistory(decided) : decided;
}
