import { REASONS, type ReasonLanguage } from '../../engine/text/reasons.ts';
import type { Edit } from '../../engine/text/render.ts';
import type { ScannedMessage, ScannedText } from '../../wires/dialects/dialect.ts';
import type { CutWhole, Job } from '../decide/decision.ts';
import { keyOf, textHash } from '../hash.ts';
import { keptId } from '../kept-text.ts';
import type { DirectiveAction, DirectivesView, Step } from '../ports/segments.ts';
import type { Decision } from '../ports.ts';
import type { BodyTexts, FoundText } from '../request/found-text.ts';
import type { PrefixMatch } from '../request/prefix-memo.ts';
import { shift } from '../sent/text-place.ts';
import { argumentsIn } from './arguments.ts';
import { holds, messageSegmentId, segmentsIn, stashKey, type TextSegment } from './text-segments.ts';

/** Used if segments are disabled, or the project's directives cannot be read. */
export const NO_DIRECTIVES: DirectivesView = { version: '', empty: true, stepsOf: () => [], of: () => null };

/** The context-GC steps that apply to a request: the set of their scopes, and the scopes joined by spaces. */
export interface ApplicableSteps {
  readonly scopes: ReadonlySet<string>;
  readonly joined: string;
}

/**
 * Finds the steps whose messages are a prefix of the request.
 *
 * @param prefixes - for each message, a hash over all messages up to it
 * @param match - a remembered body with the same directives; its steps are reused for shared messages
 */
export function applicableSteps(
  steps: readonly Step[],
  prefixes: readonly string[],
  match: PrefixMatch | null,
): ApplicableSteps {
  const longest = steps.reduce((max, step) => Math.max(max, step.messages), 0);
  if (longest === 0) return { scopes: new Set(), joined: '' };
  if (match && match.checkpoint.messages >= longest) {
    return { scopes: new Set(match.body.steps.split(' ').filter(Boolean)), joined: match.body.steps };
  }
  const applicable = steps
    .filter(({ scope, messages: count }) => prefixes[count - 1] === scope)
    .map(({ scope }) => scope);
  return { scopes: new Set(applicable), joined: applicable.join(' ') };
}

/** New messages of a body, with the texts found in them. */
interface NewTexts {
  readonly messages: readonly ScannedMessage[];
  /** Index of the first new message. */
  readonly first: number;
  readonly found: readonly FoundText[];
  /** Name of the tool that returned a text, or `''`. */
  readonly toolOf: (text: ScannedText) => string;
  /** Decisions with which texts were sent before. */
  readonly sent: ReadonlyMap<FoundText, Decision>;
  /** A pin does not undo what was sent before, because the provider verifies the history. */
  readonly keepsSent: boolean;
}

/** Applies directives to found texts: pinned texts stay whole; stashed and deleted texts are replaced by a marker. */
export function applyDirectives(
  strings: BodyTexts,
  texts: NewTexts,
  project: string,
  view: DirectivesView,
  { scopes }: ApplicableSteps,
  language: ReasonLanguage = 'fr',
): FoundText[] {
  const out: FoundText[] = [];
  let at = 0;
  for (let i = texts.first; i < texts.messages.length; i++) {
    const message = texts.messages[i];
    const here: FoundText[] = [];
    for (; texts.found[at]?.messageIndex === i; at++) here.push(...texts.found.slice(at, at + 1));
    const segments = message ? [...segmentsIn(strings, message, i, here), ...argumentsIn(strings, message, i)] : [];
    const directed = segments.flatMap((segment) => {
      const action = view.of(segment.id, i, scopes);
      return action === null || hasPinnedResult(strings, texts, segment, view) ? [] : [{ segment, action }];
    });
    if (directed.length === 0) {
      out.push(...here);
      continue;
    }
    const cut = directed.filter(({ action }) => action !== 'pin');
    const pinned = directed.filter(({ action }) => action === 'pin');
    const isPinned = (text: FoundText): boolean =>
      !(texts.keepsSent && texts.sent.has(text)) && pinned.some(({ segment }) => holds(segment, text));
    const kept = here
      .filter((text) => !cut.some(({ segment }) => holds(segment, text)))
      .map((text) => (isPinned(text) ? { ...text, skip: 'pinned' } : text));
    const replacements = cut.map(({ segment, action }) => {
      const [whole, other] = here.filter((text) => holds(segment, text));
      const earlier = whole?.entire === true && other === undefined ? texts.sent.get(whole) : undefined;
      const cutWhole = cutWholeOf(segment, action, project, language, earlier);
      const tool = segment.placed ? segment.source.name : texts.toolOf(segment.source);
      return replacementFor(segment, cutWhole, tool);
    });
    out.push(...[...kept, ...replacements].sort((a, b) => a.literal.start - b.literal.start || a.start - b.start));
  }
  return out;
}

/** Whether a segment is an argument of a call whose result is pinned, which keeps both whole. */
function hasPinnedResult(
  strings: BodyTexts,
  { messages }: Pick<NewTexts, 'messages'>,
  { placed, messageIndex, source: { callId } }: TextSegment,
  view: DirectivesView,
): boolean {
  if (placed === undefined) return false;
  for (let i = messageIndex + 1; i < messages.length; i++) {
    const result = messages[i]?.texts.find((text) => text.use === 'result' && text.callId === callId);
    if (result === undefined) continue;
    const id = messageSegmentId('tool', callId, textHash(strings.at(result.literal) ?? ''));
    return view.of(id, i, NO_SCOPES) === 'pin';
  }
  return false;
}

const NO_SCOPES: ReadonlySet<string> = new Set();

/** @param earlier - the recorded decision with which the text was sent before, if any */
function cutWholeOf(
  segment: TextSegment,
  action: DirectiveAction,
  project: string,
  language: ReasonLanguage,
  earlier: Pick<Decision, 'pruneId' | 'tokensAfter'> | undefined,
): CutWhole {
  const { deleted, stashed } = REASONS[language];
  const { id } = segment;
  if (action === 'delete') return { key: keyOf('delete', project, id), reason: deleted, kind: 'deleted', always: true };
  if (action === 'stash') return { key: stashKey(project, id), reason: stashed, kind: 'stashed', always: false };
  // an earlier cut becomes part of the single marker; any other text has the id under which a search finds it
  const pruneId = earlier?.pruneId ?? keptId(segment.textHash);
  const key = keyOf('aside', project, id);
  return { key, pruneId, reason: stashed, kind: 'aside', always: false, tokensShown: earlier?.tokensAfter };
}

function replacementFor(segment: TextSegment, cutWhole: CutWhole, tool: string): FoundText {
  const { messageIndex, literal, start, text, textHash } = segment;
  const job: Job = {
    text,
    textHash,
    goal: '',
    hints: { origin: 'unknown' },
    // the lines are not ranked
    limits: { maxPruneRatio: 0, minKeepLines: 0 },
    tool,
    caller: 'proxy',
    cutWhole,
  };
  const { place, lift } = segment.placed ?? {
    place: { text: segment.index, json: [], start, chars: text.length },
    lift: (edits: readonly Edit[]) => shift(edits, start),
  };
  const entire = !segment.file && place.json.length === 0;
  return { messageIndex, literal, start, entire, place, lift, job, skip: '', markerIds: [], around: [] };
}
