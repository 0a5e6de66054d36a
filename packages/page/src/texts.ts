import { explainDecision } from '@mcp-pruner/why/why.ts';
import { caveat, inWords } from '@mcp-pruner/why/words.ts';
import type { Store, StoredPrune } from 'mcp-pruner/core/ports.ts';
import { type Lines, lineAt, splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { formatShortMarker } from 'mcp-pruner/engine/text/marker.ts';
import { reasonInEnglish } from 'mcp-pruner/engine/text/reasons.ts';
import { annotate } from 'mcp-pruner/engine/text/render.ts';
import { PrunerError } from 'mcp-pruner/errors/errors.ts';
import type { LineShown, SentAs, TextPart, WhyShown } from './shapes.ts';

/** Maximum number of lines and characters per answer, which a browser shows at once. */
const MOST_LINES = 2_000;
const MOST_CHARS = 300_000;
/** Longer lines are truncated; the rest is requested separately. */
const LINE_CHARS = 2_000;
/** Approximate size of a line apart from its text, in characters. */
const CHARS_AROUND = 40;
const PIECE_CHARS = 64_000;
const MOST_CUTS = 5_000;
/** Larger texts are not explained, because that ranks the text again on the main thread. */
const MOST_EXPLAINED_CHARS = 1_000_000;
const MOST_REGIONS = 5_000;

type Originals = Pick<Store, 'findPrune' | 'findOriginal'>;

/** @throws PrunerError `prune_id_not_found` @throws StoreUnavailable */
export async function textPart(
  { store, sent }: { readonly store: Originals; readonly sent: SentAs },
  pruneId: string,
  from: number,
  count: number,
): Promise<TextPart> {
  const { prune, lines } = await find(store, pruneId);
  const { decision, createdAtMs, expiresAtMs } = prune;
  const { tool, kind, sourceType, goal, keptLines, tokensBefore, tokensAfter, notice = '' } = decision;
  const part: LineShown[] = [];
  let chars = 0;
  let n = Math.max(1, from);
  let cut = 0;
  for (; n <= lines.count && part.length < Math.min(count, MOST_LINES) && chars < MOST_CHARS; n++) {
    while (n > (decision.cuts[cut]?.endLine ?? n)) cut++;
    const text = lineAt(lines, n);
    const isCut = n >= (decision.cuts[cut]?.startLine ?? n + 1);
    const clipped = clip(text);
    part.push({ n, text: clipped, cut: isCut ? cut : -1, more: text.length - clipped.length });
    chars += clipped.length + CHARS_AROUND;
  }
  return {
    ...{ pruneId, tool, kind, sourceType, goal: goal.slice(0, LINE_CHARS), lines: lines.count, keptLines },
    ...{ tokensBefore, tokensAfter, createdMs: createdAtMs, expiresMs: expiresAtMs, part, sent, notice },
    cuts: annotate(decision.cuts, pruneId)
      .slice(0, MOST_CUTS)
      .map((cut, k) => (k > 0 && sent.shortMarkers && !cut.full ? { ...cut, marker: formatShortMarker(cut) } : cut))
      .map((cut) => ({ ...cut, reason: reasonInEnglish(cut.reason) })),
    next: n <= lines.count ? n : null,
  };
}

/**
 * A piece of one long line.
 *
 * @param at - UTF-16 units from its beginning
 * @throws PrunerError `prune_id_not_found`, `invalid_range`
 * @throws StoreUnavailable
 */
export async function pieceOfLine(store: Originals, pruneId: string, n: number, at: number) {
  const { lines } = await find(store, pruneId);
  if (n < 1 || n > lines.count) throw new PrunerError('invalid_range', { hint: `The text has ${lines.count} lines.` });
  const text = lineAt(lines, n);
  const piece = text.slice(at, at + PIECE_CHARS);
  return { text: piece, more: Math.max(0, text.length - at - piece.length) };
}

/**
 * Explains why each region was kept or cut.
 *
 * @throws PrunerError `prune_id_not_found`
 * @throws StoreUnavailable
 */
export async function whyOf({ store }: { readonly store: Originals }, pruneId: string): Promise<WhyShown> {
  const { prune, text } = await find(store, pruneId);
  const { decision } = prune;
  if (text.length > MOST_EXPLAINED_CHARS) {
    const tooLong = `This text is too long to be explained here: run mcp-pruner why ${pruneId}`;
    return { caveat: tooLong, terms: [], threshold: null, regions: [] };
  }
  const why = explainDecision(decision, text);
  return {
    caveat: caveat(why.certainty, decision.whole),
    terms: why.terms.slice(0, 50),
    threshold: why.threshold,
    regions: why.regions.slice(0, MOST_REGIONS).map((region) => ({
      ...{ startLine: region.startLine, endLine: region.endLine, kept: region.kept },
      words: inWords(region, why, decision.kind),
    })),
  };
}

async function find(store: Originals, pruneId: string): Promise<{ prune: StoredPrune; text: string; lines: Lines }> {
  const prune = await store.findPrune(pruneId);
  const text = prune && (await store.findOriginal(pruneId));
  if (prune === null || text === null) {
    const hint = 'This original is not available: it has expired, was deleted, or the store was replaced.';
    throw new PrunerError('prune_id_not_found', { hint });
  }
  return { prune, text, lines: splitLines(text) };
}

/** Truncates a text, never inside a surrogate pair. */
function clip(text: string): string {
  if (text.length <= LINE_CHARS) return text;
  const last = text.charCodeAt(LINE_CHARS - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? LINE_CHARS - 1 : LINE_CHARS);
}
