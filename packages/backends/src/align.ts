import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { type Lines, lineAt, splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';

interface KeptLine {
  readonly line: string;
  /** Position constraint from a preceding placeholder. */
  readonly after: Gap;
}

/**
 * `none`: the line directly follows the previous one. Otherwise lines were omitted, perhaps with a known number or end.
 */
type Gap = 'none' | 'unknown' | { readonly lines: number } | { readonly upTo: number };

const FILTERED = /^\(filtered (\d{1,9}) lines?\)$/;
const ELLIPSIS = /^(?:#|\/\/|--|;|%|\/\*|<!--)? ?(?:\.{3}|…)(?: ?\*\/| ?-->)?$/;
/** Maximum number of candidate positions after a gap, and of following lines compared for each. */
const MAX_PLACES = 64;
const LOOK_AHEAD = 8;

/**
 * Finds the lines of an original that a pruned text kept, in order. Trailing white space is ignored, blank lines are
 * not judged, and placeholders for omitted lines are skipped.
 *
 * @returns for each line 1 (kept), 0 (omitted), or `NaN` (blank); `null` if the text is not such a selection, or keeps
 * nothing
 */
export function keptLines(original: Lines, pruned: string): Float64Array | null {
  const content = contentsOf(original);
  const index = groupBy(content.keys(), (i) => content[i] ?? '');
  const answer = contentsOf(splitLines(pruned)).filter((line) => line !== '');
  // "..." may be an original line or a placeholder: whichever fits
  const placesWith = (mayStandIn: (line: string) => boolean): number[] | null =>
    embed(content, index, readKept(answer, mayStandIn));
  const places = placesWith((line) => !index.has(line)) ?? placesWith(() => true);
  if (places === null || places.length === 0) return null;
  const out = Float64Array.from(content, (line) => (line === '' ? Number.NaN : 0));
  for (const i of places) out[i] = 1;
  return out;
}

function contentsOf(lines: Lines): string[] {
  return Array.from({ length: lines.count }, (_, i) => lineAt(lines, i + 1).trimEnd());
}

function readKept(answer: readonly string[], mayStandIn: (line: string) => boolean): KeptLine[] {
  const kept: KeptLine[] = [];
  let after: Gap = 'none';
  for (const line of answer) {
    const gap = mayStandIn(line) ? gapOf(line) : null;
    if (gap !== null) {
      after = gap;
      continue;
    }
    kept.push({ line, after });
    after = 'none';
  }
  return kept;
}

function gapOf(line: string): Gap | null {
  const trimmed = line.trimStart();
  const filtered = FILTERED.exec(trimmed)?.[1];
  if (filtered !== undefined) return { lines: Number(filtered) };
  const marker = parseMarker(trimmed);
  if (marker) return { upTo: marker.endLine };
  return ELLIPSIS.test(trimmed) ? 'unknown' : null;
}

/** An ascending position for each kept line; `null` if they do not all fit. */
function embed(
  content: readonly string[],
  index: ReadonlyMap<string, readonly number[]>,
  kept: readonly KeptLine[],
): number[] | null {
  const latest = latestPlaces(index, kept);
  if (latest === null) return null;
  const places: number[] = [];
  let before = -1;
  kept.forEach(({ line, after }, k) => {
    const last = latest[k] ?? -1;
    const expected = skipBlank(content, expectedPlace(before, after));
    const fits = expected > before && expected <= last && content[expected] === line;
    before = fits ? expected : bestPlace(content, kept, k, index.get(line) ?? [], before, last);
    places.push(before);
  });
  return places;
}

/** The last position of each line that leaves room for the following lines; `null` if they do not fit. */
function latestPlaces(index: ReadonlyMap<string, readonly number[]>, kept: readonly KeptLine[]): Int32Array | null {
  const latest = new Int32Array(kept.length);
  let behind = Number.POSITIVE_INFINITY;
  for (let k = kept.length - 1; k >= 0; k--) {
    const places = index.get(kept[k]?.line ?? '') ?? [];
    behind = places[countBelow(places, behind) - 1] ?? -1;
    if (behind < 0) return null;
    latest[k] = behind;
  }
  return latest;
}

function expectedPlace(before: number, after: Gap): number {
  if (after === 'none' || after === 'unknown') return before + 1;
  return 'upTo' in after ? after.upTo : before + 1 + after.lines;
}

function skipBlank(content: readonly string[], place: number): number {
  while (content[place] === '') place++;
  return place;
}

/** The position after a gap from which most of the following kept lines match without another gap. */
function bestPlace(
  content: readonly string[],
  kept: readonly KeptLine[],
  k: number,
  places: readonly number[],
  before: number,
  last: number,
): number {
  const first = countBelow(places, before + 1);
  let best = last;
  let most = -1;
  for (let i = first; i < Math.min(places.length, first + MAX_PLACES); i++) {
    const place = places[i] ?? last;
    if (place > last) break;
    const run = runLength(content, kept, k, place);
    if (run <= most) continue;
    best = place;
    most = run;
  }
  return best;
}

function runLength(content: readonly string[], kept: readonly KeptLine[], k: number, place: number): number {
  let run = 0;
  let at = place;
  while (run < LOOK_AHEAD) {
    const next = kept[k + run + 1];
    if (next === undefined || next.after !== 'none') break;
    at = skipBlank(content, at + 1);
    if (content[at] !== next.line) break;
    run++;
  }
  return run;
}

/** Number of elements of an ascending list below a limit. */
function countBelow(ascending: readonly number[], limit: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
