import type { MissCause } from '../core/ports/ledger.ts';
import type {
  Difference,
  HoldoutPlan,
  HoldoutResult,
  LedgerReport,
  LedgerTotals,
  Share,
  WorkRate,
} from '../core/ports/ledger-report.ts';

/** Causes of cache misses as people read them. */
const CAUSES: Readonly<Record<MissCause, string>> = {
  first_request: 'first request: nothing was there yet',
  expired: 'expired: too long since the request before',
  model_changed: 'another model was asked',
  tools_changed: 'the client changed its tools',
  system_changed: 'the client changed its system prompt',
  message_changed: 'the client changed an earlier message',
  compacted: 'the client compacted the conversation: all of it was new to the cache',
  changed_by_us: 'changed by mcp-pruner: please report it',
  unknown: 'unknown: nothing changed',
};

/** Dollars with as many decimals as are significant. */
export function money(dollars: number): string {
  const size = Math.abs(dollars);
  const digits = size === 0 || size >= 100 ? 2 : size >= 1 ? 2 : size >= 0.01 ? 3 : 5;
  return `${dollars < 0 ? '-' : ''}$${size.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** A number of things: `1 request`, `2 requests`. */
export function plural(value: number, thing: string): string {
  return `${count(value)} ${thing}${Math.round(value) === 1 ? '' : 's'}`;
}

export function percent(share: number | null): string {
  return share === null ? '-' : `${(100 * share).toFixed(1)} %`;
}

/** A boldness step with its sign. */
function stepWords(step: number): string {
  return step > 0 ? `+${step}` : String(step);
}

/** A table with its heading; the first row says what the columns are. */
export interface Part {
  readonly title: string;
  /** A sentence below the heading, or `''`. */
  readonly note: string;
  /** How many first columns are words. */
  readonly words: number;
  readonly rows: readonly (readonly string[])[];
}

const MAX_ROWS = 15;

const NOTHING: Part = { title: '', note: '', words: 0, rows: [] };

/** The non-empty parts of the report below its totals. */
export function partsOf(report: LedgerReport): Part[] {
  const parts = [sharesPart, missesPart, toolsPart, checkedPart, stepsPart, modelsPart, holdoutPart, workPart];
  return parts.map((part) => part(report)).filter(({ rows }) => rows.length > 1);
}

function sharesPart({ shares }: LedgerReport): Part {
  type Show = (value: number) => string;
  const row = (name: string, of: Share, show: Show) => [name, show(of.part), show(of.whole), percent(of.share)];
  return {
    title: 'What was removed, of four wholes',
    note: '',
    words: 1,
    rows: [
      ['of', 'removed', 'whole', 'share'],
      row('the texts that were looked at (tokens)', shares.ofTexts, count),
      row('newly billed input (tokens)', shares.ofNewInput, count),
      row('all input (tokens)', shares.ofAllInput, count),
      row('the bill, net', shares.ofBill, money),
    ],
  };
}

function missesPart({ misses }: LedgerReport): Part {
  const rows = misses.map((one) => [
    CAUSES[one.cause] ?? one.cause,
    count(one.requests),
    count(one.tokens),
    money(one.dollars),
  ]);
  return {
    title: 'Why the cache missed',
    note: 'Dollars are what the missing tokens cost above the price of reading them.',
    words: 1,
    rows: [['cause', 'requests', 'tokens', 'dollars'], ...rows],
  };
}

function toolsPart({ tools }: LedgerReport): Part {
  const rows = tools
    .slice(0, MAX_ROWS)
    .map(({ tool, kind, texts, cut, removed, dollarsSaved, regrets, regretDollars }) => [
      ...[tool || '-', kind || '-', count(texts), count(cut), count(removed), money(dollarsSaved)],
      ...[count(regrets.recovered), count(regrets.reread), count(regrets.quoted), money(regretDollars)],
    ]);
  return {
    title: 'Tools and kinds',
    note: 'Saved: at the price at which a text would have entered. Regret: what came again because it had been cut.',
    words: 2,
    rows: [['tool', 'kind', 'texts', 'cut', 'removed', 'saved', 'recovered', 'reread', 'quoted', 'regret'], ...rows],
  };
}

function stepsPart({ steps }: LedgerReport): Part {
  const rows = steps
    .slice(0, MAX_ROWS)
    .map(({ project, tool, kind, step, atMs, texts, regretted, number }) => [
      ...[project || '-', tool || '-', kind || '-', stepWords(step), new Date(atMs).toISOString().slice(0, 10)],
      ...[count(texts), count(regretted), String(number)],
    ]);
  return {
    title: 'Learnt from regret',
    note: 'What is decided from then on is cut so many steps more mildly (below 0) or boldly than configured.',
    words: 3,
    rows: [['project', 'tool', 'kind', 'step', 'since', 'texts cut', 'regretted', 'number'], ...rows],
  };
}

function modelsPart({ models }: LedgerReport): Part {
  const rows = models.slice(0, MAX_ROWS).map((one) => {
    const hasPrice = one.unpriced < one.requests;
    return [
      ...[one.model || '-', count(one.requests), count(one.fresh), count(one.write5m + one.write1h)],
      ...[count(one.read), count(one.output)],
      ...(hasPrice ? [money(one.dollars), money(one.gross)] : ['-', '-']),
      one.calibration === null ? '-' : one.calibration.toFixed(2),
    ];
  });
  return {
    title: 'Models',
    note: '',
    words: 1,
    rows: [
      ['model', 'requests', 'fresh', 'written', 'read', 'output', 'dollars', 'saved', 'reported ÷ estimated'],
      ...rows,
    ],
  };
}

function checkedPart({ checked }: LedgerReport): Part {
  if (checked === null) return NOTHING;
  const { requests, failed, failures, exact, estimated } = checked;
  const reasons = failures.map(({ reason, requests: times }) => `${count(times)} ${reason}`).join(', ');
  return {
    title: 'Removed tokens, counted by the provider',
    note: `Of the share of requests that MCP_PRUNER_VERIFY names. These counts replace the estimates.${failed > 0 ? ` No count for ${count(failed)} requests${reasons && ` (${reasons})`}.` : ''}`,
    words: 0,
    rows: [
      ['requests counted', 'no count', 'removed', 'estimated', 'counted ÷ estimated'],
      [...[requests, failed, exact, estimated].map(count), estimated > 0 ? (exact / estimated).toFixed(3) : '-'],
    ],
  };
}

/** The comparison with the conversations that were left whole. */
export function holdoutPart({ holdout }: Pick<LedgerReport, 'holdout'>): Part {
  if (holdout === null) return NOTHING;
  const row = (name: string, of: Difference, show: (value: number) => string): string[] => [
    name,
    show(of.pruned),
    show(of.control),
    show(of.difference),
    of.interval === null
      ? of.tooSkewed
        ? 'too uneven to tell'
        : 'too few to tell'
      : `${show(of.interval[0])} to ${show(of.interval[1])}`,
  ];
  const { pruned, control } = holdout.conversations;
  return {
    title: 'The control group',
    note: `${count(pruned)} conversations pruned, ${count(control)} left whole. ${HOW[holdout.method]} The interval holds the true difference in at least 95 of 100 experiments.${planWords(holdout.plan)}`,
    words: 1,
    rows: [
      ['mean', 'pruned', 'whole', 'difference', 'interval'],
      row('dollars a conversation', holdout.dollarsPerConversation, money),
      row('dollars a turn', holdout.dollarsPerTurn, money),
      row('turns', holdout.turns, (value) => value.toFixed(1)),
      row('dollars without cuts', holdout.withoutCuts, money),
      row('output tokens', holdout.outputTokens, count),
      row('regret tokens', holdout.regretTokens, count),
    ],
  };
}

/** How the work goes, pruned and whole. */
function workPart({ work }: LedgerReport): Part {
  const rows = work.map(({ words, isShare, pruned, control, difference }) => {
    const show = (value: number): string => (isShare ? percent(value) : value.toFixed(2));
    const range = ([low, high]: readonly [number, number]): string => `${show(low)} to ${show(high)}`;
    const rate = ({ part, whole, rate: value, interval }: WorkRate): string[] =>
      value === null
        ? ['-', '-', '-']
        : [`${count(part)} of ${count(whole)}`, show(value), interval ? range(interval) : 'too few'];
    const apart =
      difference === null ? 'too few' : difference.interval === null ? 'too uneven' : range(difference.interval);
    return [words, ...rate(pruned), ...rate(control), apart];
  });
  return {
    title: 'How the work goes',
    note: 'Counted in requests, of pruned conversations and of those that were left whole. An interval holds the true value in 95 of 100 cases.',
    words: 1,
    rows: [['measure', 'pruned', 'rate', 'interval', 'whole', 'rate', 'interval', 'difference'], ...rows],
  };
}

const HOW: Readonly<Record<HoldoutResult['method'], string>> = {
  pairs:
    'No difference between the groups is seen but for the cuts, so each pruned conversation is compared with its own bill without cuts; whether it also goes on longer, the turns say.',
  groups: 'The groups are compared with each other, by classes of the size of the first request.',
};

function planWords({ more, share, days }: HoldoutPlan): string {
  if (more === 0) return '';
  if (more === null) return ' No number of conversations would decide it: there is no difference.';
  const time = days === null ? '' : `, about ${count(days)} days`;
  return ` Some ${count(more)} more conversations${time} decide it with MCP_PRUNER_HOLDOUT=${share}.`;
}

/** The top figures of the report. */
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

/** The range that holds the saving while removed tokens are estimates. */
function rangeWords({ savedRange }: LedgerTotals): string {
  if (savedRange === null || savedRange[0] === savedRange[1]) return '';
  return ` (estimated: ${money(savedRange[0])} to ${money(savedRange[1])})`;
}

function wouldBe({ wouldSave, wouldRemove }: LedgerTotals): readonly [string, string] {
  return ['would be saved (shadow mode)', `${money(wouldSave)}, ${count(wouldRemove)} tokens`];
}
