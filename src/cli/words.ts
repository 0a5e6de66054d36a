import { count, plural } from '../base/counts.ts';
import { columnDecimals, dollarWords } from '../base/decimals.ts';
import { leftWholeWords } from '../core/left-whole.ts';
import { missAction, missWords } from '../core/miss-causes.ts';
import {
  type Difference,
  type HoldoutPlan,
  type HoldoutResult,
  isTelling,
  type LedgerModel,
  type LedgerReport,
  type LedgerTotals,
  type Share,
  undecidedWords,
} from '../core/ports/ledger-report.ts';
import { type Part, part } from './columns.ts';

/** Formats a single dollar amount like the page does. For columns: `moneyColumn`. */
export function money(dollars: number, decimals = columnDecimals([dollars])): string {
  return dollarWords(dollars, decimals);
}

/** Returns a formatter that uses the same decimals for a whole column of dollars. */
export function moneyColumn(values: readonly number[]): (dollars: number) => string {
  const decimals = columnDecimals(values);
  return (dollars) => money(dollars, decimals);
}

export function percent(share: number | null): string {
  return share === null ? '-' : `${(100 * share).toFixed(1)} %`;
}

const MAX_ROWS = 15;

const NOTHING: Part = { title: '', note: '', textColumns: 0, rows: [] };

/** Non-empty parts of the report below its totals. */
export function partsOf(report: LedgerReport): Part[] {
  const parts = [sharesPart, leftWholePart, missesPart, toolsPart, modelsPart, holdoutPart];
  return parts.map((partOf) => partOf(report)).filter(({ rows }) => rows.length > 1);
}

function sharesPart({ shares }: LedgerReport): Part {
  type Row = readonly [name: string, of: Share, show: (value: number) => string];
  const rows: readonly Row[] = [
    ['texts that were examined (tokens)', shares.ofTexts, count],
    ['newly billed input (tokens)', shares.ofNewInput, count],
    ['all input (tokens)', shares.ofAllInput, count],
    ['the bill, net', shares.ofBill, money],
  ];
  return part<Row>(
    { title: 'Share that was removed, by four measures', note: '', textColumns: 1 },
    [
      ['of', ([name]) => name],
      ['removed', ([, of, show]) => show(of.part)],
      ['whole', ([, of, show]) => show(of.whole)],
      ['share', ([, of]) => percent(of.share)],
    ],
    rows,
  );
}

function leftWholePart({ leftWhole, results: { all, cut } }: LedgerReport): Part {
  return part(
    {
      title: 'Why results were left whole',
      note: `${count(all)} new tool results and files: ${count(cut)} cut, ${count(all - cut)} left whole. mcp-pruner why --latest explains those of the newest conversation.`,
      textColumns: 1,
    },
    [
      ['reason', ({ reason }) => leftWholeWords(reason)],
      ['texts', ({ texts }) => count(texts)],
    ],
    leftWhole,
  );
}

function missesPart({ misses }: LedgerReport): Part {
  const cost = moneyColumn(misses.map(({ dollars }) => dollars));
  return part(
    {
      title: 'Why the cache missed',
      note: 'Dollars: the cost of the missed tokens above the price of reading them from the cache.',
      textColumns: 2,
    },
    [
      ['cause', ({ cause }) => missWords(cause).name],
      ['what to do', ({ cause }) => missAction(cause, undefined, money) || missWords(cause).about],
      ['requests', ({ requests }) => count(requests)],
      ['tokens', ({ tokens }) => count(tokens)],
      ['dollars', ({ dollars }) => cost(dollars)],
    ],
    misses,
  );
}

function toolsPart({ tools }: LedgerReport): Part {
  const shown = tools.slice(0, MAX_ROWS);
  const saved = moneyColumn(shown.map(({ dollarsSaved }) => dollarsSaved));
  const regret = moneyColumn(shown.map(({ regretDollars }) => regretDollars));
  return part(
    {
      title: 'Tools and kinds',
      note: 'Saved: at the price of tokens that are sent for the first time. Regret: text that was sent again because it had been cut.',
      textColumns: 2,
    },
    [
      ['tool', ({ tool }) => tool || '-'],
      ['kind', ({ kind }) => kind || '-'],
      ['texts', ({ texts }) => count(texts)],
      ['cut', ({ cut }) => count(cut)],
      ['removed', ({ removed }) => count(removed)],
      ['saved', ({ dollarsSaved }) => saved(dollarsSaved)],
      ['recovered', ({ regrets }) => count(regrets.recovered)],
      ['reread', ({ regrets }) => count(regrets.reread)],
      ['quoted', ({ regrets }) => count(regrets.quoted)],
      ['regret', ({ regretDollars }) => regret(regretDollars)],
    ],
    shown,
  );
}

function modelsPart({ models }: LedgerReport): Part {
  const shown = models.slice(0, MAX_ROWS);
  const bill = moneyColumn(shown.map(({ dollars }) => dollars));
  const saved = moneyColumn(shown.map(({ net }) => net));
  const priced = ({ unpriced, requests }: LedgerModel, dollars: string): string =>
    unpriced < requests ? dollars : '-';
  return part(
    { title: 'Models', note: '', textColumns: 1 },
    [
      ['model', ({ model }) => model || '-'],
      ['requests', ({ requests }) => count(requests)],
      ['fresh', ({ fresh }) => count(fresh)],
      ['written', ({ write5m, write1h }) => count(write5m + write1h)],
      ['read', ({ read }) => count(read)],
      ['output', ({ output }) => count(output)],
      ['dollars', (one) => priced(one, bill(one.dollars))],
      ['saved, net', (one) => priced(one, saved(one.net))],
      ['reported ÷ estimated', ({ calibration }) => calibration?.toFixed(2) ?? '-'],
    ],
    shown,
  );
}

export function holdoutPart({ holdout }: Pick<LedgerReport, 'holdout'>): Part {
  if (holdout === null) return NOTHING;
  type Row = readonly [name: string, of: Difference, show: (value: number) => string];
  const intervalWords = ([, { interval, tooSkewed }, show]: Row): string => {
    return interval === null ? undecidedWords(tooSkewed) : `${show(interval[0])} to ${show(interval[1])}`;
  };
  const { pruned, control } = holdout.conversations;
  const rows: readonly Row[] = [
    ['dollars a conversation', holdout.dollarsPerConversation, money],
    ['dollars a turn', holdout.dollarsPerTurn, money],
    ['turns', holdout.turns, (value) => value.toFixed(1)],
    ['dollars without cuts', holdout.withoutCuts, money],
    ['output tokens', holdout.outputTokens, count],
    ['regret tokens', holdout.regretTokens, count],
    ['recoveries', holdout.recoveries, (value) => value.toFixed(2)],
    ['compactions', holdout.compactions, (value) => value.toFixed(2)],
  ];
  return part<Row>(
    {
      title: 'The control group',
      note: `${count(pruned)} conversations pruned, ${count(control)} left whole. ${HOW[holdout.method]} The interval holds the true difference in at least 95 of 100 experiments.${planWords(holdout.plan)}`,
      textColumns: 1,
    },
    [
      ['mean', ([name]) => name],
      ['pruned', ([, of, show]) => show(of.pruned)],
      ['whole', ([, of, show]) => show(of.control)],
      ['difference', ([, of, show]) => show(of.difference)],
      ['interval', intervalWords],
    ],
    rows.filter(([, of], i) => i === 0 || isTelling(of)),
  );
}

const HOW: Readonly<Record<HoldoutResult['method'], string>> = {
  pairs:
    'Apart from the cuts, no difference between the groups was found, so each pruned conversation is compared with its own bill without cuts. The row "turns" shows whether conversations got longer.',
  groups: 'The groups are compared with each other, by classes of the size of the first request.',
};

function planWords({ more, share, days }: HoldoutPlan): string {
  if (more === 0) return '';
  if (more === null) return ' No number of conversations would decide the comparison: there is no difference.';
  const time = days === null ? '' : ` (about ${plural(days, 'day')})`;
  return ` About ${count(more)} more conversations${time} would decide the comparison, with MCP_PRUNER_HOLDOUT=${share}.`;
}

export function headline(report: LedgerReport): (readonly [string, string])[] {
  const { totals } = report;
  return [
    ['requests', `${count(totals.requests)}${totals.estimated > 0 ? ` (${count(totals.estimated)} estimated)` : ''}`],
    ['spent', money(totals.dollars)],
    ['without pruning', money(totals.dollarsWithout)],
    ['saved, gross', `${money(totals.gross)}${rangeWords(totals)}`],
    ['regret', money(totals.regretDollars)],
    ['saved, net', `${money(totals.net)} (${percent(report.shares.ofBill.share)} of the bill)`],
    ...(totals.wouldRemove > 0 ? [wouldBe(totals)] : []),
  ];
}

function rangeWords({ savedRange }: LedgerTotals): string {
  if (savedRange[0] === savedRange[1]) return '';
  return ` (estimated: ${money(savedRange[0])} to ${money(savedRange[1])})`;
}

function wouldBe({ wouldSave, wouldRemove }: LedgerTotals): readonly [string, string] {
  return ['would be saved (shadow mode)', `${money(wouldSave)}, ${count(wouldRemove)} tokens`];
}
