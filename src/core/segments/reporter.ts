import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FailureReporter } from '../../base/failures.ts';
import { countLines } from '../../engine/text/lines.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Origin } from '../../engine/types.ts';
import type { ScannedMessage, ScannedText } from '../../wires/dialects/dialect.ts';
import type { CallInContext } from '../../wires/goal/conversation.ts';
import { askedLines, editedFiles } from '../../wires/transcript/call-targets.ts';
import { ownWords } from '../../wires/transcript/file-blocks.ts';
import { isRecovery } from '../../wires/transcript/shell-recovery.ts';
import { callFacts } from '../../wires/transcript/tools.ts';
import type { Turns } from '../decide/turns.ts';
import { keyOf } from '../hash.ts';
import type {
  DirectiveAction,
  DirectivesView,
  Effect,
  RequestScope,
  SeenRequest,
  SeenSegment,
  SegmentPorts,
  SegmentType,
} from '../ports/segments.ts';
import type { Decision } from '../ports.ts';
import { keptIdsIn } from '../recall/keeper.ts';
import { containsRecovered, type FindSettings, type FoundText } from '../request/find-texts.ts';
import type { ApplicableSteps } from './apply-directives.ts';
import { ReportedBodies } from './reported-bodies.ts';
import { holds, segmentsIn, stashId, type TextSegment } from './text-segments.ts';

const MAX_CHARS = 60;
/** An injected part before the user's words may be long; characters beyond this limit are ignored. */
const MAX_READ_CHARS = 20_000;

/** The first words of the user among segments, on one line; `''` if there are only files and injected parts. */
export function openingOf(segments: readonly SeenSegment[]): string {
  for (const { role, effect, text } of segments) {
    if (role !== 'user' || effect !== 'asked') continue;
    const words = ownWords(text.slice(0, MAX_READ_CHARS), []).replace(/\s+/g, ' ').trim();
    if (words !== '') return Array.from(words).slice(0, MAX_CHARS).join('');
  }
  return '';
}

/** A request whose texts were decided. */
export interface ReportedRequest extends Omit<ReadMessages, 'directed'> {
  readonly body: Buffer;
  readonly conversationId: string;
  readonly steps: ApplicableSteps;
  readonly scope: RequestScope;
  readonly directives: DirectivesView;
}

export interface SegmentReporterOptions {
  readonly segments: SegmentPorts;
  readonly find: FindSettings;
  /** Size from which bodies are kept in the prefix memo; of these only the new messages have been read. */
  readonly rememberedFrom: number;
  readonly onFailure: FailureReporter;
  /** Shared by all long work on this thread. */
  readonly turns: Turns;
}

/** A smaller first request of a conversation contains nothing that could be collected. */
const MIN_REPORTED_BYTES = 4 * 1024;

/** Characters processed without a pause (about 5 ms). */
const PIECE_CHARS = 128 * 1024;
/**
 * Maximum number of requests that wait to be reported in order. Each keeps its body in memory, so further ones are
 * reported at once, out of order.
 */
const MAX_WAITING = 32;

/** Reports the segments of requests to their observers, once the requests are on their way. */
export class SegmentReporter {
  readonly #options: SegmentReporterOptions;
  readonly #reported = new ReportedBodies();
  /** Resolves when all requests so far are reported. */
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: SegmentReporterOptions) {
    this.#options = options;
  }

  /** Reports the new segments of a request. Never throws or blocks. */
  report(request: ReportedRequest): void {
    if (hasOnlyBegun(request)) return;
    const first = this.#firstUnreported(request);
    if (first === request.messages.length) return;
    const done = this.#waiting < MAX_WAITING ? this.#last : Promise.resolve();
    this.#waiting++;
    const { segments, onFailure } = this.#options;
    const seen = done.then(() => this.#seenInTurns({ ...request, first }));
    this.#last = seen
      .then(noop, (cause: unknown) => onFailure('segments_not_noted', cause))
      .finally(() => {
        this.#waiting--;
      });
    segments.onSeen(seen);
  }

  /** Extracts the segments piece by piece, so that other requests are served in between. */
  async #seenInTurns(request: ReportedRequest): Promise<SeenRequest> {
    const { turns } = this.#options;
    const messages = this.#byMessage(request);
    const seen: SeenSegment[] = [];
    const piece = (): boolean => {
      for (let chars = 0; chars < PIECE_CHARS; ) {
        const next = messages.next();
        if (next.done) return true;
        seen.push(...next.value);
        chars += next.value.reduce((sum, { text }) => sum + text.length, 1);
      }
      return false;
    };
    await nextTurn(); // the request itself has priority
    while (!(await turns.run(piece)));
    return seenRequest(request, seen);
  }

  /** The segments of a request's messages, from `first` on. */
  seen(request: ReportedRequest): SeenRequest {
    return seenRequest(request, [...this.#byMessage(request)].flat());
  }

  #byMessage(request: ReportedRequest): Generator<readonly SeenSegment[], void> {
    const { body, scope, directives, steps, messages, first, found, callOf, decisionOf } = request;
    const directed = (id: string, index: number) => directives.of(id, index, steps.scopes);
    const read = { messages, first, found, callOf, decisionOf, directed };
    return seenSegments(body, read, scope.project, this.#options.find);
  }

  #firstUnreported({ body, messages, first, conversationId, scope, directives, steps }: ReportedRequest): number {
    if (first > 0 || body.length >= this.#options.rememberedFrom) return first;
    const key = [conversationId, scope.task, directives.version, steps.joined, scope.project].join(' ');
    return this.#reported.recordUpTo(key, body, messages);
  }
}

function noop(): void {}

function seenRequest(request: ReportedRequest, segments: readonly SeenSegment[]): SeenRequest {
  const { scope, conversationId, messages, first } = request;
  const { project, client } = scope;
  const task = scope.task || conversationId;
  const opening = first === 0 ? openingOf(segments) : '';
  return { project, task, client, opening, conversationId, messages: messages.length, whole: first === 0, segments };
}

/** A small request with the first words of a user: it contains nothing that could be collected. */
function hasOnlyBegun({ body, first, found, messages }: ReportedRequest): boolean {
  if (first > 0 || found.length > 0 || body.length >= MIN_REPORTED_BYTES) return false;
  return messages.every(({ role }) => role !== 'assistant' && role !== 'tool');
}

/** The messages of a body from `first` on, with what was read in them. */
interface ReadMessages {
  readonly messages: readonly ScannedMessage[];
  /** Index of the first message to look at. */
  readonly first: number;
  readonly found: readonly FoundText[];
  readonly callOf: (text: ScannedText) => CallInContext | undefined;
  readonly decisionOf: (text: FoundText) => Decision | null;
  readonly directed: (segmentId: string, messageIndex: number) => DirectiveAction | null;
}

/** Yields the described segments message by message. */
function* seenSegments(
  body: Buffer,
  read: ReadMessages,
  project: string,
  settings: Pick<FindSettings, 'neverPruneTool' | 'neverPrunePath'>,
): Generator<readonly SeenSegment[], void> {
  let at = read.found.findIndex(({ messageIndex }) => messageIndex >= read.first);
  for (let i = read.first; i < read.messages.length; i++) {
    const message = read.messages[i];
    const from = at;
    while (at >= 0 && read.found[at]?.messageIndex === i) at++;
    if (!message) continue;
    const found = at < 0 ? [] : read.found.slice(from, at);
    const seen: SeenSegment[] = [];
    let source: Source | null = null;
    for (const segment of segmentsIn(body, message, i, found)) {
      if (source?.text !== segment.source) source = sourceOf(segment.source, read.callOf(segment.source), settings);
      const within = found.filter((text) => holds(segment, text));
      seen.push(describe(segment, source, within, read, project, settings));
    }
    yield seen;
  }
}

/** What the segments of one text have in common. */
interface Source {
  readonly text: ScannedText;
  readonly tool: string;
  readonly callId: string;
  readonly callKey: string;
  readonly wanted: string;
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly origin: Origin;
  readonly edited: readonly string[];
  readonly exempt: boolean;
}

function sourceOf(
  text: ScannedText,
  call: CallInContext | undefined,
  settings: Pick<FindSettings, 'neverPruneTool' | 'neverPrunePath'>,
): Source {
  const facts = callFacts(call);
  const tool = call?.name ?? (text.use === 'result' ? text.name : '');
  const path = facts.hints.path ?? '';
  const { startLine, endLine } = askedLines(call);
  return {
    text,
    tool,
    callId: text.callId,
    callKey: call ? keyOf(call.name, call.args) : '',
    wanted: facts.said,
    path,
    startLine,
    endLine,
    origin: facts.hints.origin,
    edited: editedFiles(call),
    exempt:
      settings.neverPruneTool(tool) ||
      (path !== '' && settings.neverPrunePath(path)) ||
      isRecovery(call) ||
      isRecovery({ name: text.use === 'result' ? text.name : '', args: '' }),
  };
}

function describe(
  segment: TextSegment,
  source: Source,
  found: readonly FoundText[],
  { decisionOf, directed }: ReadMessages,
  project: string,
  settings: Pick<FindSettings, 'neverPrunePath'>,
): SeenSegment {
  const { id, text, messageIndex, role } = segment;
  const made = found.flatMap((one) => decisionOf(one) ?? []);
  const pruneIds = made.flatMap(({ pruneId }) => pruneId ?? []).filter((pruneId) => pruneId !== stashId(project, id));
  const effect = effectOf(segment, source);
  const path = segment.file ? segment.path : source.path;
  // usually the segment is exactly the decided text, whose lines and tokens are already counted
  const whole = found.length === 1 && found[0]?.job.textHash === segment.textHash ? made[0] : undefined;
  return {
    id,
    text,
    ordinal: messageIndex,
    role,
    type: typeOf(segment, effect, source, path, made),
    effect,
    tokens: tokensOf(whole?.tokensBefore ?? estimateTokens(text), made),
    lines: whole?.lines ?? countLines(text),
    tool: source.tool,
    path,
    startLine: source.startLine,
    endLine: source.endLine,
    callId: role === 'tool' ? source.callId : '',
    callKey: source.callKey,
    wanted: source.wanted,
    edited: FAILED.test(text.slice(0, 300)) ? [] : source.edited,
    exempt: source.exempt || containsRecovered(text) || (segment.file && path !== '' && settings.neverPrunePath(path)),
    directed: directed(id, messageIndex),
    pruneIds: role === 'tool' ? [...pruneIds, ...keptIdsIn(text)] : pruneIds,
  };
}

/** The beginning of a tool's answer that reports a failed change. */
const FAILED =
  /^[\W_]{0,40}(?:tool_use_error|error|failed|failure|exception|could not|cannot|can't|unable to|no such file|no match|string not found|old_string)\b/i;

/** Tokens that the segment would take if it were not stashed. */
function tokensOf(all: number, made: readonly Decision[]): number {
  const saved = made
    .filter(({ kind }) => kind !== 'stashed' && kind !== 'deleted')
    .reduce((sum, { tokensBefore, tokensAfter }) => sum + tokensBefore - tokensAfter, 0);
  return Math.max(1, all - saved);
}

function effectOf({ role, file }: TextSegment, { origin, edited }: Source): Effect {
  if (file) return 'attached';
  if (role === 'user') return 'asked';
  if (role === 'assistant') return 'said';
  return edited.length > 0 ? 'edit' : EFFECTS[origin];
}

const EFFECTS: Readonly<Record<Origin, Effect>> = {
  read: 'read',
  search: 'search',
  listing: 'list',
  command: 'run',
  unknown: 'other',
};

const PROSE_PATH = /\.(?:md|mdx|markdown|txt|rst|adoc|org)$/i;
const LOG_PATH = /\.(?:log|out|err|trace)$/i;
const NOTE_TOOL = /(?:todo|plan|memory|note|scratchpad)/i;
/** Opening words of a client's summary of the messages that it dropped. */
const SUMMARY =
  /^\s*(?:<summary>|#{0,3} {0,3}summary\b|this session is being continued|(?:here is )?(?:a|the) summary of (?:the|our)|<state_snapshot>|\[?context summary)/i;
const DECISION =
  /(?:^|\n)\s{0,20}(?:[#*-]{0,3} {0,3})(?:decision|decided|design decision|we decided|i(?:'ve| have)? decided|let(?:'s| us) go with|we(?:'ll| will) go with)\b/i;
/** Number of characters read to recognise the type of a text. */
const TYPE_CHARS = 1_200;

function typeOf(
  segment: TextSegment,
  effect: Effect,
  { tool }: Source,
  path: string,
  made: readonly Decision[],
): SegmentType {
  const start = segment.text.slice(0, TYPE_CHARS);
  if (segment.role !== 'tool' && !segment.file) {
    if (SUMMARY.test(start)) return 'summary';
    return segment.role === 'assistant' && DECISION.test(start) ? 'decision' : 'message';
  }
  if (effect === 'read' || effect === 'attached') {
    if (LOG_PATH.test(path)) return 'log';
    return PROSE_PATH.test(path) ? 'note' : 'code';
  }
  if (NOTE_TOOL.test(tool)) return 'note';
  const sourceType = made.find(({ kind }) => kind !== 'stashed' && kind !== 'deleted')?.sourceType;
  return sourceType === 'code' ? 'code' : 'log';
}
