import type { Needs, Sent } from './needs.ts';
import { LIMITS } from './real-bill.ts';

/** How much of what was come back to stood there. */
export interface Kept {
  lines: number;
  edits: number;
  /** Edits of what the model wrote itself. */
  written: number;
  literals: number;
  findings: number;
  /** Answers whose basis stayed visible. */
  answers: number;
  /** Answers whose basis in earlier results stayed visible. */
  later: number;
}

/** What is counted of one conversation; sums of it are counted likewise. */
export interface Sums {
  sessions: number;
  /** Of these, how many have no times. */
  untimed: number;
  requests: number;
  messagesBefore: number;
  messagesAfter: number;
  billBefore: number;
  billAfter: number;
  /** Requests that changed what an earlier one had sent. */
  steps: number;
  /** Recoveries that lost lines and edits need first, and what they cost. */
  recoveries: number;
  recoveryCost: number;
  readonly used: Kept;
  readonly kept: Kept;
  readonly random: Kept;
  peakBefore: number;
  peakAfter: number;
  readonly compactionsBefore: number[];
  readonly compactionsAfter: number[];
}

export const NOTHING: Sums = {
  sessions: 0,
  untimed: 0,
  requests: 0,
  messagesBefore: 0,
  messagesAfter: 0,
  billBefore: 0,
  billAfter: 0,
  steps: 0,
  recoveries: 0,
  recoveryCost: 0,
  used: { lines: 0, edits: 0, written: 0, literals: 0, findings: 0, answers: 0, later: 0 },
  kept: { lines: 0, edits: 0, written: 0, literals: 0, findings: 0, answers: 0, later: 0 },
  random: { lines: 0, edits: 0, written: 0, literals: 0, findings: 0, answers: 0, later: 0 },
  peakBefore: 0,
  peakAfter: 0,
  compactionsBefore: LIMITS.map(() => 0),
  compactionsAfter: LIMITS.map(() => 0),
};

/** Adds up what was counted of several conversations. */
export function sumOf(all: readonly Sums[]): Sums {
  return all.reduce((a, b) => add(a, b) as Sums, NOTHING);
}

/** Adds numbers field by field, whatever they stand in. */
function add(a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (Array.isArray(a) && Array.isArray(b)) return a.map((value, i) => add(value, b[i]));
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.keys(left).map((key) => [key, add(left[key], right[key])]));
}

/** How much of the needs stands in what was sent. */
export function keptOf(needs: Needs, sent: Sent): Kept {
  return {
    lines: needs.lines.filter((line) => sent.hasLine(line)).length,
    edits: needs.edits.filter((blocks) => sent.hasEdit(blocks)).length,
    written: needs.written.filter((need) => sent.hasWritten(need)).length,
    literals: needs.literals.filter((literal) => sent.hasLiteral(literal)).length,
    findings: needs.findings.filter((finding) => sent.hasLiteral(finding)).length,
    answers: needs.answers.filter((answer) => sent.hasBasis(answer)).length,
    later: needs.later.filter((answer) => sent.hasBasis(answer)).length,
  };
}

const share = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)}`);
const ratio = (part: number, whole: number): string => (whole === 0 ? '-' : (part / whole).toFixed(3));

export const HEAD = [
  '',
  'sessions',
  'requests',
  'messages',
  'real bill',
  '95 %',
  'with recoveries',
  'steps',
  'recoveries',
  'a session',
  'lines',
  'visible',
  'random',
  'edits',
  'apply',
  'random',
  'own writing',
  'there',
  'random',
  'literals',
  'there',
  'random',
  'findings',
  'seen',
  'random',
  'answers',
  'grounded',
  'random',
  'later answers',
  'grounded',
  'random',
  'peak',
  ...LIMITS.map((limit) => `at ${limit / 1000}k`),
];

/** A row of the table. */
export function rowOf(name: string, each: readonly Sums[]): string[] {
  const sums = sumOf(each);
  const { used, kept, random } = sums;
  return [
    name,
    String(sums.sessions),
    String(sums.requests),
    ratio(sums.messagesAfter, sums.messagesBefore),
    ratio(sums.billAfter, sums.billBefore),
    interval(each),
    ratio(sums.billAfter + sums.recoveryCost, sums.billBefore),
    String(sums.steps),
    String(sums.recoveries),
    (sums.recoveries / Math.max(1, sums.sessions)).toFixed(1),
    ...(['lines', 'edits', 'written', 'literals', 'findings', 'answers', 'later'] as const).flatMap((what) => [
      String(used[what]),
      share(kept[what], used[what]),
      share(random[what], used[what]),
    ]),
    ratio(sums.peakAfter, sums.peakBefore),
    ...LIMITS.map((_, i) => `${sums.compactionsBefore[i]}→${sums.compactionsAfter[i]}`),
  ];
}

const RESAMPLES = 400;

/** What 95 % of resamplings of the conversations give for the real bill. */
function interval(each: readonly Sums[]): string {
  let state = 1;
  const draw = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * each.length);
  };
  const ratios = Array.from({ length: RESAMPLES }, () => {
    let before = 0;
    let after = 0;
    for (let i = 0; i < each.length; i++) {
      const { billBefore, billAfter } = each[draw()] ?? NOTHING;
      before += billBefore;
      after += billAfter;
    }
    return after / Math.max(1, before);
  }).sort((a, b) => a - b);
  return `${(ratios[Math.floor(RESAMPLES * 0.025)] ?? 0).toFixed(3)}-${(ratios[Math.floor(RESAMPLES * 0.975)] ?? 0).toFixed(3)}`;
}
