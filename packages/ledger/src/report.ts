import { priceNotes } from '@mcp-pruner/money/price-notes.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import { plural } from 'mcp-pruner/base/counts.ts';
import type { MissCause } from 'mcp-pruner/core/ports/ledger.ts';
import type {
  LedgerMiss,
  LedgerQuery,
  LedgerReport,
  LedgerTool,
  LedgerTotals,
  LeftWhole,
  Share,
} from 'mcp-pruner/core/ports/ledger-report.ts';
import type { LedgerConversation, LedgerSum, Others } from 'mcp-pruner/core/ports/ledger-store.ts';
import { forcedWords, isForcedReason } from 'mcp-pruner/errors/passed-whole.ts';
import { holdoutOf } from './holdout.ts';

/** Daily sums that show whether anything was saved. */
export interface DaySaving {
  readonly day: string;
  readonly requests: number;
  /** Estimated tokens of the examined tool results. */
  readonly looked: number;
  /** Tokens that were removed, and that shadow mode would have removed. */
  readonly removed: number;
  readonly wouldRemove: number;
}

/** Number of daily requests that makes zero savings significant, with and without savings on the previous day. */
const FEW = 20;
const MANY = 50;

/**
 * Reports if the newest day saved nothing although large results were examined, or although the previous day had
 * savings.
 *
 * @param days - newest first
 */
export function fallenNotes(days: readonly DaySaving[]): string[] {
  const [last, before] = days;
  if (last?.removed !== 0) return [];
  const hasFallen = (before?.removed ?? 0) > 0;
  if (last.looked === 0 && !hasFallen) return [];
  if (last.requests < (hasFallen ? FEW : MANY)) return [];
  const fell =
    hasFallen && before ? `, ${Math.round(before.removed).toLocaleString('en-US')} tokens on ${before.day}` : '';
  const cause =
    last.wouldRemove > 0
      ? 'shadow mode is on'
      : last.looked > 0
        ? 'all tool results were left whole; run mcp-pruner doctor to find the cause'
        : 'no tool result was examined; run mcp-pruner doctor to find the cause';
  return [`nothing was saved in ${last.requests} requests on ${last.day}${fell}: ${cause}`];
}

/** Minimum estimated tokens for a meaningful calibration. */
const ENOUGH_GUESSED = 2_000;
const OTHERS: Others = '(others)';

type Fields = ReadonlyMap<string, number>;

/** The figures that the report and the page show. @param sums - as returned by `LedgerStore.totals` */
export function reportOf(
  query: LedgerQuery,
  sums: readonly LedgerSum[],
  conversations: readonly LedgerConversation[],
  prices?: Prices,
): LedgerReport {
  const of = (slice: LedgerSum['slice']): readonly LedgerSum[] => sums.filter((sum) => sum.slice === slice);
  const all = of('all').filter(({ day }) => day !== '');
  const projects = grouped(
    of('all').filter(({ day }) => day === ''),
    ({ project }) => project,
  )
    .map(([project, fields]) => ({ project, ...totalsOf(fields) }))
    .sort(dearestFirst);
  const whole = fieldsOf(all);
  const totals = totalsOf(whole);
  const models = grouped(of('model'), ({ key }) => key)
    .map(([model, fields]) => ({ model, ...totalsOf(fields), calibration: calibrationOf(fields) }))
    .sort(dearestFirst);
  const keys = grouped(of('key'), ({ key }) => key)
    .map(([keyId, fields]) => ({ keyId, ...totalsOf(fields) }))
    .sort(dearestFirst);
  const days = grouped(all, ({ day }) => day);
  const tools = grouped(of('tool'), ({ key }) => key).map(([key, fields]) => toolOf(key, fields));
  return {
    sinceDay: query.sinceDay,
    project: query.project ?? null,
    notes: [
      ...(prices?.problems ?? []),
      ...wholeNotes(of('whole')),
      ...priceNotes(models, prices),
      ...foldedNotes(projects),
      ...fallenNotes(days.map(savingOf)),
    ],
    totals,
    days: days.map(([day, fields]) => ({ day, ...totalsOf(fields) })),
    models,
    projects,
    keys,
    tools: tools.toSorted((a, b) => b.dollarsSaved - a.dollarsSaved || b.removed - a.removed),
    shares: sharesOf(totals, whole),
    misses: grouped(of('miss'), ({ key }) => key)
      .map(([cause, fields]) => missOf(cause, fields))
      .sort((a, b) => b.dollars - a.dollars || b.tokens - a.tokens),
    ...resultsOf(of('whole'), tools),
    holdout: holdoutOf(conversations),
  };
}

function dearestFirst(a: LedgerTotals, b: LedgerTotals): number {
  return b.dollars - a.dollars || b.requests - a.requests;
}

/** Shares of examined texts, input and bill that were cut. */
function sharesOf(
  { fresh, write5m, write1h, read, removed, removedNew, net, dollarsWithout }: LedgerTotals,
  fields: Fields,
): LedgerReport['shares'] {
  const added = fresh + write5m + write1h;
  return {
    ofTexts: shareOf(fields.get('lookedRemoved') ?? 0, fields.get('looked') ?? 0),
    ofNewInput: shareOf(removedNew, added + removedNew),
    ofAllInput: shareOf(removed, added + read + removed),
    ofBill: shareOf(net, dollarsWithout),
  };
}

function savingOf([day, fields]: readonly [string, Fields]): DaySaving {
  const get = (field: string): number => fields.get(field) ?? 0;
  const [requests, looked, removed] = [get('requests'), get('looked'), get('removed')];
  return { day, requests, looked, removed, wouldRemove: get('wouldRemove') };
}

/** One line per reason for which new texts were left whole. @param sums - of the slice `whole` */
export function wholeNotes(sums: readonly LedgerSum[]): string[] {
  return grouped(sums, ({ key }) => key).flatMap(([reason, fields]) => {
    const requests = fields.get('requests') ?? 0;
    if (reason === 'off' && requests > 0) {
      const were = `${plural(requests, 'request')} ${requests === 1 ? 'was' : 'were'} forwarded unread, as pruning was switched off`;
      return [`${were}: no result of ${requests === 1 ? 'it' : 'them'} is counted`];
    }
    if (!isForcedReason(reason) || requests === 0) return [];
    const [why, advice] = forcedWords(reason);
    return [`${plural(requests, 'request')} without new cuts (${reason}): ${why}; ${advice}`];
  });
}

/** Sums up new results: those that were cut, and those that were left whole, by reason. */
function resultsOf(
  sums: readonly LedgerSum[],
  tools: readonly LedgerTool[],
): Pick<LedgerReport, 'results' | 'leftWhole'> {
  const reasons = grouped(sums, ({ key }) => key).map(([reason, fields]) => {
    return { reason, left: fields.get('left') ?? 0, notExamined: fields.get('notExamined') ?? 0 };
  });
  const total = <T>(of: readonly T[], amount: (one: T) => number) => of.reduce((sum, one) => sum + amount(one), 0);
  const [texts, cut] = [total(tools, (tool) => tool.texts), total(tools, (tool) => tool.cut)];
  // earlier versions did not record the reason of each text
  const unrecorded = texts - cut - total(reasons, ({ left }) => left);
  const leftWhole: LeftWhole[] = [
    ...reasons.map(({ reason, left, notExamined }) => ({ reason, texts: left + notExamined })),
    { reason: 'unrecorded', texts: unrecorded },
  ];
  return {
    results: { all: texts + total(reasons, ({ notExamined }) => notExamined), cut },
    leftWhole: leftWhole.filter((one) => one.texts > 0).sort((a, b) => b.texts - a.texts),
  };
}

/** Notes that figures of projects were added to `(others)`. */
function foldedNotes(projects: LedgerReport['projects']): string[] {
  const others = projects.find(({ project }) => project === OTHERS);
  return others
    ? [
        `a day had too many projects: ${plural(others.requests, 'request')} of the smaller ones are counted under ${OTHERS}`,
      ]
    : [];
}

/** Reported tokens per estimated token; `null` until there is enough evidence. */
function calibrationOf(fields: Fields): number | null {
  const guessed = fields.get('guessed') ?? 0;
  return guessed < ENOUGH_GUESSED ? null : (fields.get('reported') ?? 0) / guessed;
}

function totalsOf(fields: Fields): LedgerTotals {
  const get = (field: string): number => fields.get(field) ?? 0;
  const [dollars, dollarsWithout, regretDollars] = [get('dollars'), get('without'), get('regretDollars')];
  const gross = dollarsWithout - dollars;
  return {
    requests: get('requests'),
    unpriced: get('unpriced'),
    estimated: get('estimated'),
    fresh: get('fresh'),
    write5m: get('write5m'),
    write1h: get('write1h'),
    read: get('read'),
    output: get('output'),
    dollars,
    dollarsWithout,
    gross,
    regretDollars,
    net: gross - regretDollars,
    removed: get('removed'),
    removedNew: get('removedNew'),
    savedRange: rangeOf(gross, get('savedDeviation')),
    regretTokens: get('regretTokens'),
    missTokens: get('missTokens'),
    missDollars: get('missDollars'),
    wouldRemove: get('wouldRemove'),
    wouldSave: get('wouldSave'),
  };
}

/** Standard deviations on each side that contain 95 % of the cases. */
const DEVIATIONS_95 = 1.96;

/**
 * A range around a value. Deviations are added linearly, because a model's estimation error is the same in all its
 * requests.
 */
function rangeOf(middle: number, deviation: number): readonly [number, number] {
  return [middle - DEVIATIONS_95 * deviation, middle + DEVIATIONS_95 * deviation];
}

function toolOf(key: string, fields: Fields): LedgerTool {
  const [tool = '', kind = ''] = key.split('\t');
  const get = (field: string): number => fields.get(field) ?? 0;
  return {
    tool,
    kind,
    texts: get('texts'),
    cut: get('cut'),
    tokens: get('tokens'),
    removed: get('removed'),
    dollarsSaved: get('saved'),
    regretTokens: get('regretTokens'),
    regretDollars: get('regretDollars'),
    regrets: { recovered: get('recovered'), reread: get('reread'), quoted: get('quoted') },
  };
}

function missOf(cause: string, fields: Fields): LedgerMiss {
  const get = (field: string): number => fields.get(field) ?? 0;
  return { cause: cause as MissCause, requests: get('requests'), tokens: get('tokens'), dollars: get('dollars') };
}

function shareOf(part: number, whole: number): Share {
  return { part, whole, share: whole > 0 ? part / whole : null };
}

/** Figures grouped by key, in the order of the first figure of each group. */
function grouped(sums: readonly LedgerSum[], keyOf: (sum: LedgerSum) => string): [string, Fields][] {
  const groups = new Map<string, Map<string, number>>();
  for (const sum of sums) {
    const key = keyOf(sum);
    const fields = groups.get(key) ?? new Map<string, number>();
    groups.set(key, fields);
    fields.set(sum.field, (fields.get(sum.field) ?? 0) + sum.value);
  }
  return [...groups];
}

function fieldsOf(sums: readonly LedgerSum[]): Fields {
  return grouped(sums, () => '')[0]?.[1] ?? new Map();
}
