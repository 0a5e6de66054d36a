import { splitLines } from '../../engine/text/lines.ts';
import { annotate, applyEdits, type Edit, editsOf, type RenderOptions } from '../../engine/text/render.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import { decodeString, type Span } from '../../wires/json/cursor.ts';
import { encodeEdits } from '../../wires/json/value.ts';
import type { Decision } from '../ports.ts';
import type { FoundText } from './found-text.ts';
import type { BodyEdit, TextOutcome } from './prefix-memo.ts';

/** A parsed body: its new texts, and the edits and outcomes of earlier messages. */
interface SpliceInput {
  readonly found: readonly FoundText[];
  readonly editsBefore: readonly BodyEdit[];
  readonly outcomesBefore: readonly TextOutcome[];
}

export interface Spliced {
  /** The received Buffer itself if nothing was cut. */
  readonly body: Buffer;
  readonly edits: readonly BodyEdit[];
  readonly outcomes: readonly TextOutcome[];
  /** Number of edits and outcomes after the first `n` found texts. */
  readonly counts: readonly { readonly edits: number; readonly outcomes: number }[];
}

/**
 * Applies decisions to a body: only the bytes of the cuts change.
 *
 * @param undecidedReason - reason recorded for texts without a decision
 */
export function splice(
  body: Buffer,
  read: SpliceInput,
  decisionOf: (text: FoundText) => Decision | null,
  render: RenderOptions,
  undecidedReason = 'refused',
): Spliced {
  if (read.found.length === 0) return withEditsBefore(body, read);
  const edits: BodyEdit[] = [...read.editsBefore];
  const outcomes: TextOutcome[] = [...read.outcomesBefore];
  const counts: { edits: number; outcomes: number }[] = [{ edits: edits.length, outcomes: outcomes.length }];
  let lifted: Edit[] = [];
  read.found.forEach((text, i) => {
    const decision = decisionOf(text);
    const cut = decision && decision.cuts.length > 0 ? cutBy(body, text, decision, render) : null;
    outcomes.push(outcomeOf(text, decision, cut, undecidedReason));
    if (cut) lifted.push(...text.lift(cut.edits));
    if (read.found[i + 1]?.literal !== text.literal) {
      if (lifted.length > 0) edits.push(editLiteral(body, text.literal, lifted));
      lifted = [];
    }
    counts.push({ edits: edits.length, outcomes: outcomes.length });
  });
  return { body: edits.length > 0 ? applyToBody(body, edits) : body, edits, outcomes, counts };
}

/** Handles a body without new texts: only the edits of earlier messages apply. */
function withEditsBefore(body: Buffer, { editsBefore, outcomesBefore }: SpliceInput): Spliced {
  const counts = [{ edits: editsBefore.length, outcomes: outcomesBefore.length }];
  const result = editsBefore.length > 0 ? applyToBody(body, editsBefore) : body;
  return { body: result, edits: editsBefore, outcomes: outcomesBefore, counts };
}

/** Stashed and deleted texts always get a marker, because nothing else remains of them. */
const MARKED: RenderOptions = { annotateLines: false, includeMarkers: true };

/** Edits for a decision; `null` if line numbers on the kept lines cost more than the cuts save. */
function cutBy(
  body: Buffer,
  { job, literal, entire, lift, render: sent }: FoundText,
  { cuts, pruneId, tokensBefore, tokensAfter, notice }: Decision,
  render: RenderOptions,
) {
  const options = job.cutWhole ? MARKED : (sent ?? render);
  const edits = editsOf(splitLines(job.text), annotate(cuts, pruneId ?? ''), options);
  if (notice !== undefined && options.includeMarkers) edits.unshift({ start: 0, end: 0, text: `${notice}\n` });
  if (options.includeMarkers && !options.annotateLines && options.shortMarkers !== true) return { edits, tokensAfter };
  let tokens = tokensBefore;
  for (const edit of edits) tokens += estimateTokens(edit.text) - estimateTokens(job.text, edit.start, edit.end);
  // line numbers cost more tokens after an escaped newline (text inside JSON) than after a plain one
  const whole = entire ? job.text : (decodeString(body, literal.start, literal.end) ?? '');
  const grows = estimateTokens(applyEdits(whole, lift(edits))) >= estimateTokens(whole);
  return tokens < tokensBefore && !grows ? { edits, tokensAfter: tokens } : null;
}

/** The edits of a text, and its tokens after them. */
type TextCut = NonNullable<ReturnType<typeof cutBy>>;

function outcomeOf(
  { messageIndex, job, skip }: FoundText,
  decision: Decision | null,
  cut: TextCut | null,
  undecidedReason: string,
): TextOutcome {
  const lines = decision?.lines ?? 0;
  const tokensBefore = decision?.tokensBefore ?? 0;
  const isAside = cut !== null && decision?.kind === 'aside';
  return {
    messageIndex,
    tool: job.tool,
    kind: decision?.kind ?? '',
    pruneId: decision && cut ? decision.pruneId : null,
    whole: cut ? '' : decision ? decision.whole || 'too_little_saved' : skip || undecidedReason,
    lines,
    keptLines: decision && cut ? decision.keptLines : lines,
    tokensBefore,
    tokensAfter: cut ? cut.tokensAfter : tokensBefore,
    ...(cut !== null && decision?.notice !== undefined && { warned: true }),
    ...(isAside && { tokensAside: (job.cutWhole?.tokensShown ?? tokensBefore) - cut.tokensAfter }),
  };
}

/** Edits one JSON string of the body. Escapes outside the cuts stay as the client wrote them. */
export function editLiteral(body: Buffer, literal: Span, edits: readonly Edit[]): BodyEdit {
  const start = literal.start + 1;
  const end = literal.end - 1;
  const raw = body.toString('utf8', start, end);
  const encoded = encodeEdits(raw, edits, 0);
  if (raw.length !== end - start) return { start, end, bytes: Buffer.from(applyEdits(raw, encoded)) };
  // in an ASCII string, offsets are byte offsets, and kept parts need no re-encoding
  const cuts = encoded.map((edit): BodyEdit => ({ start: edit.start, end: edit.end, bytes: Buffer.from(edit.text) }));
  return { start, end, bytes: applyToBody(body.subarray(start, end), cuts) };
}

/** Applies replacements to a body; they must be in ascending order. */
export function applyToBody(body: Buffer, edits: readonly BodyEdit[]): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, bytes } of edits) {
    pieces.push(body.subarray(at, start), bytes);
    at = end;
  }
  pieces.push(body.subarray(at));
  return Buffer.concat(pieces);
}
