import { tellsSuccess } from '../kinds/log/rank.ts';
import type { Analysis } from '../reading.ts';
import { contentOf } from '../text/view.ts';
import type { Choice, Run } from './runs.ts';

const MOST_CHARS = 20;
/** A cut of fewer tokens does not name the goal: the words would cost more than they tell. */
const NAMED_TOKENS = 400;
const SAMPLE = 24;

/** Says in a few French words what went and, for a large cut, against which goal. */
export function reasonFor(analysis: Analysis, { tokens }: Choice, run: Run): string {
  const { kind } = analysis;
  let size = 0;
  for (let i = run.from; i <= run.to; i++) size += tokens[i] ?? 0;
  if (kind.name === 'test-run' && mostlyPassed(analysis, run)) return 'tests réussis';
  const repeated = kind.family === 'log' ? repeatedShape(analysis, run) : '';
  const what = repeated === '' ? 'hors focus' : 'journal répétitif';
  if (size < NAMED_TOKENS) return repeated === '' ? what : 'répétitif';
  const named = repeated === '' ? namedGoal(analysis) : repeated;
  return named === '' ? what : `${what}: ${named}`;
}

function mostlyPassed({ view }: Analysis, run: Run): boolean {
  const step = Math.max(1, Math.floor((run.to - run.from + 1) / SAMPLE));
  let seen = 0;
  let passed = 0;
  for (let i = run.from; i <= run.to; i += step) {
    seen++;
    if (tellsSuccess(contentOf(view, i))) passed++;
  }
  return passed * 3 >= seen;
}

/** Beginning of the line whose shape makes up most of a run, or `''` when none does. */
function repeatedShape({ view, templates }: Analysis, run: Run): string {
  const lines = run.to - run.from + 1;
  if (lines < 6) return '';
  const counts = new Map<number, number>();
  const step = Math.max(1, Math.floor(lines / SAMPLE));
  let looked = 0;
  let best = -1;
  for (let i = run.from; i <= run.to; i += step) {
    const shape = templates.shape[i] ?? 0;
    const count = (counts.get(shape) ?? 0) + 1;
    counts.set(shape, count);
    looked++;
    if (best < 0 || count > (counts.get(templates.shape[best] ?? 0) ?? 0)) best = i;
  }
  if (best < 0 || (counts.get(templates.shape[best] ?? 0) ?? 0) * 2 < looked) return '';
  const words = contentOf(view, best, 200).match(/(?<![\p{L}\d])[\p{L}_/][\p{L}\d_./-]{2,}/gu) ?? [];
  return joined(words);
}

/** The goal's heaviest words that the text has. */
function namedGoal({ terms }: Analysis): string {
  return joined(terms.map(({ word }) => word));
}

function joined(words: readonly string[]): string {
  let out = '';
  for (const word of words.slice(0, 6)) {
    if (out.length + word.length + 1 > MOST_CHARS || out.includes(word)) continue;
    out += out === '' ? word : ` ${word}`;
  }
  return out;
}
