import { analyse } from './reading.ts';
import { contentOf, type View, viewText } from './text/view.ts';
import type { PruneInput } from './types.ts';

/** The part of the input that determines which lines are sent to another backend. */
type SampleInput = Pick<PruneInput, 'text' | 'goal' | 'sourceType' | 'hints'>;

/** Number of characters by which lines are compared. Set by hand. */
const COMPARED_CHARS = 2_000;
const HAS_WORD = /[\p{L}\p{N}]/u;

/**
 * The lines to send to another backend that accepts at most `limit` lines: all lines with a letter or digit if they
 * fit; otherwise the lines that the engine ranks highest, without repetitions and protected lines.
 *
 * @returns indexes from 0, ascending
 */
export function sampleLines(input: SampleInput, limit: number): number[] {
  const view = viewText(input.text, input.hints?.frameHead ?? 0);
  const written: number[] = [];
  for (let i = 0; i < view.n; i++) if (HAS_WORD.test(contentOf(view, i, COMPARED_CHARS))) written.push(i);
  if (written.length <= limit) return written;
  const analysis = analyse(input);
  if (analysis === null) return firstOfEach(view, written, limit);
  const { keep } = analysis;
  const { value } = analysis;
  const open = written.filter((i) => keep[i] === 0).sort((a, b) => (value[b] ?? 0) - (value[a] ?? 0) || a - b);
  return firstOfEach(view, open, limit).sort((a, b) => a - b);
}

function firstOfEach(view: View, lines: readonly number[], limit: number): number[] {
  const seen = new Set<string>();
  const out: number[] = [];
  for (const i of lines) {
    if (out.length >= limit) break;
    const content = contentOf(view, i, COMPARED_CHARS);
    if (seen.has(content)) continue;
    seen.add(content);
    out.push(i);
  }
  return out;
}
