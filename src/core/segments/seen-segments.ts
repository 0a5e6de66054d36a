import type { ScannedMessage, ScannedText } from '../../dialects/dialect.ts';
import { countLines } from '../../engine/text/lines.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Origin } from '../../engine/types.ts';
import type { CallInContext } from '../../goal/conversation.ts';
import { askedLines, editedFiles } from '../../transcript/call-targets.ts';
import { callFacts, isRecovery } from '../../transcript/tools.ts';
import { keyOf } from '../hash.ts';
import type { DirectiveAction, Effect, SeenSegment, SegmentType } from '../ports/segments.ts';
import type { Decision } from '../ports.ts';
import { keptIdsIn } from '../recall/kept.ts';
import { type FindSettings, type FoundText, holdsRecovered } from '../request/find-texts.ts';
import { holds, segmentsIn, stashId, type TextSegment } from './text-segments.ts';

/** The messages of a body from `first` on, with what was read in them. */
export interface ReadMessages {
  readonly messages: readonly ScannedMessage[];
  /** Index of the first message to look at. */
  readonly first: number;
  readonly found: readonly FoundText[];
  readonly callOf: (text: ScannedText) => CallInContext | undefined;
  readonly decisionOf: (text: FoundText) => Decision | null;
  readonly directed: (segmentId: string, messageIndex: number) => DirectiveAction | null;
}

/** Yields the described segments message by message. */
export function* seenSegments(
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
  // mostly a segment is the very text that a decision was made about, and counted already
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
    exempt: source.exempt || holdsRecovered(text) || (segment.file && path !== '' && settings.neverPrunePath(path)),
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
/** How a client's summary of what it dropped begins, anywhere in the first characters. */
const SUMMARY =
  /^\s*(?:<summary>|#{0,3} {0,3}summary\b|this session is being continued|(?:here is )?(?:a|the) summary of (?:the|our)|<state_snapshot>|\[?context summary)/i;
const DECISION =
  /(?:^|\n)\s{0,20}(?:[#*-]{0,3} {0,3})(?:decision|decided|design decision|we decided|i(?:'ve| have)? decided|let(?:'s| us) go with|we(?:'ll| will) go with)\b/i;
/** Characters that are read to recognise what a text is. */
const LOOKED_AT = 1_200;

function typeOf(
  segment: TextSegment,
  effect: Effect,
  { tool }: Source,
  path: string,
  made: readonly Decision[],
): SegmentType {
  const start = segment.text.slice(0, LOOKED_AT);
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
