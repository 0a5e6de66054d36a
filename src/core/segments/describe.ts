import { countLines } from '../../engine/text/lines.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Origin } from '../../engine/types.ts';
import type { ScannedText } from '../../wires/dialects/dialect.ts';
import type { CallInContext } from '../../wires/goal/kept-conversation.ts';
import { askedLines, editedFiles } from '../../wires/transcript/call-targets.ts';
import { isRecovery } from '../../wires/transcript/shell-recovery.ts';
import { callFacts } from '../../wires/transcript/tools.ts';
import { WHOLE_CUTS } from '../decide/decision.ts';
import { keyOf } from '../hash.ts';
import type { DirectivesView, Effect, RequestScope, SeenRequest, SeenSegment, SegmentType } from '../ports/segments.ts';
import type { Decision } from '../ports.ts';
import { containsRecovered, type FindSettings, type FoundText } from '../request/found-text.ts';
import type { ReadBody } from '../request/read.ts';
import type { ApplicableSteps } from './apply-directives.ts';
import { openingOf } from './opening.ts';
import { holds, segmentsIn, stashId, type TextSegment } from './text-segments.ts';

/** A request whose texts were decided. */
export interface DecidedSegments
  extends Pick<ReadBody, 'texts' | 'messages' | 'first' | 'found' | 'callOf' | 'conversationId'> {
  readonly decisionOf: (text: FoundText) => Decision | null;
  readonly steps: ApplicableSteps;
  readonly scope: RequestScope;
  readonly directives: DirectivesView;
}

/** Builds a `SeenRequest` with the segments of messages from `first` on, as described by `segmentsOf`. */
export function seenRequest(
  request: DecidedSegments,
  segmentsOf: (index: number) => readonly SeenSegment[],
): SeenRequest {
  const { scope, conversationId, messages, first } = request;
  const segments: SeenSegment[] = [];
  for (let i = first; i < messages.length; i++) segments.push(...segmentsOf(i));
  const { project, client } = scope;
  const task = scope.task || conversationId;
  const opening = first === 0 ? openingOf(segments) : '';
  return { project, task, client, opening, conversationId, messages: messages.length, whole: first === 0, segments };
}

/** Returns the prune ids under which the texts of a result are stored whole. */
type KeptIds = (source: ScannedText) => readonly string[];

type DescribeSettings = Pick<FindSettings, 'neverPruneTool' | 'neverPrunePath'>;

/** Describes the segments of messages; must be called in ascending message order. */
export class SegmentDescriber {
  readonly #request: DecidedSegments;
  readonly #settings: DescribeSettings;
  /** Position in the found texts. */
  #at = 0;

  constructor(request: DecidedSegments, settings: DescribeSettings) {
    this.#request = request;
    this.#settings = settings;
  }

  /** The segments of a message. */
  of(index: number, keptIds: KeptIds): SeenSegment[] {
    const { texts, messages, found } = this.#request;
    const message = messages[index];
    if (!message) return [];
    while ((found[this.#at]?.messageIndex ?? index) < index) this.#at++;
    const from = this.#at;
    while (found[this.#at]?.messageIndex === index) this.#at++;
    const here = found.slice(from, this.#at);
    let source: Source | null = null;
    return segmentsIn(texts, message, index, here).map((segment) => {
      if (source?.text !== segment.source)
        source = sourceOf(segment.source, this.#request.callOf(segment.source), this.#settings);
      const within = here.filter((text) => holds(segment, text));
      return describe(segment, source, within, this.#request, this.#settings, keptIds);
    });
  }
}

/** Fields shared by all segments of one text. */
interface Source
  extends Pick<
    SeenSegment,
    'tool' | 'callId' | 'callKey' | 'wanted' | 'path' | 'startLine' | 'endLine' | 'edited' | 'exempt'
  > {
  readonly text: ScannedText;
  readonly origin: Origin;
}

function sourceOf(text: ScannedText, call: CallInContext | undefined, settings: DescribeSettings): Source {
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
  { decisionOf, directives, steps, scope: { project } }: DecidedSegments,
  settings: Pick<FindSettings, 'neverPrunePath'>,
  keptIds: KeptIds,
): SeenSegment {
  const { id, text, messageIndex, role } = segment;
  const made = found.flatMap((one) => decisionOf(one) ?? []);
  const kept = role === 'tool' ? keptIds(segment.source) : [];
  const own = new Set([stashId(project, id), ...kept]);
  const pruneIds = made.flatMap(({ pruneId }) => pruneId ?? []).filter((pruneId) => !own.has(pruneId));
  const effect = effectOf(segment, source);
  const path = segment.file ? segment.path : source.path;
  // usually the segment equals the decided text, whose lines and tokens are already counted
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
    directed: directives.of(id, messageIndex, steps.scopes),
    pruneIds: [...pruneIds, ...kept],
    hashes: [segment.textHash, ...found.map(({ job }) => job.textHash)],
    copies: made.flatMap(({ copies = [] }) => copies),
  };
}

/** Matches the beginning of a tool answer that reports a failed edit. */
const FAILED =
  /^[\W_]{0,40}(?:tool_use_error|error|failed|failure|exception|could not|cannot|can't|unable to|no such file|no match|string not found|old_string)\b/i;

/** Tokens of the segment if it were not stashed. */
function tokensOf(all: number, made: readonly Decision[]): number {
  const saved = made
    .filter(({ kind }) => !WHOLE_CUTS.has(kind))
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
/** Opening words of a client's summary that replaces dropped messages. */
const SUMMARY =
  /^\s*(?:<summary>|#{0,3} {0,3}summary\b|this session is being continued|(?:here is )?(?:a|the) summary of (?:the|our)|<state_snapshot>|\[?context summary)/i;
const DECISION =
  /(?:^|\n)\s{0,20}(?:[#*-]{0,3} {0,3})(?:decision|decided|design decision|we decided|i(?:'ve| have)? decided|let(?:'s| us) go with|we(?:'ll| will) go with)\b/i;
/** Number of leading characters used to detect the type of a text. */
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
  const sourceType = made.find(({ kind }) => !WHOLE_CUTS.has(kind))?.sourceType;
  return sourceType === 'code' ? 'code' : 'log';
}
