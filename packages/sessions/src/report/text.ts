import { count, plural } from 'mcp-pruner/base/counts.ts';
import { type Paint, printable } from 'mcp-pruner/cli/command.ts';
import { table, wrap } from 'mcp-pruner/cli/table.ts';
import { money, percent } from 'mcp-pruner/cli/words.ts';
import type { MissCause } from 'mcp-pruner/core/ports/ledger.ts';
import type { ThresholdCost } from 'mcp-pruner/core/ports/seams-report.ts';
import { limitLines } from './limits.ts';
import type { PastReport, PastTotals, SessionsReport } from './past-report.ts';
import { PLACES } from './places.ts';

/** Maximum line length on any terminal. */
const MOST_COLUMNS = 80;
const MAX_ROWS = 5;

/** Reasons for a cold cache, in words for a first-time reader. */
const COLD: Readonly<Partial<Record<MissCause, string>>> = {
  expired: 'pauses longer than the cache lifetime',
  unknown: 'for a reason that the files do not show',
  model_changed: 'another model was asked',
  message_changed: 'the agent changed an earlier message',
  tools_changed: 'the agent changed its tools',
  system_changed: 'the agent changed its instructions',
};

export function nothingText(sinceMs: number, columns = MOST_COLUMNS): string {
  const since = new Date(sinceMs).toISOString().slice(0, 10);
  const agents = [...new Set(PLACES.map(({ agent }) => agent))].join(', ');
  return `${wrap(`no session of ${agents} since ${since} below your home folder: --since 1y looks further back`, Math.min(columns, MOST_COLUMNS), 2)}\n`;
}

export function sessionsText(found: SessionsReport, paint: Paint, columns = MOST_COLUMNS): string {
  const width = Math.min(columns, MOST_COLUMNS);
  const { report } = found;
  const wrapped = (text: string): string => wrap(printable(text), width, 2);
  const parts = [
    [paint('bold', `Your sessions since ${report.sinceDay}`), wrapped(whoWords(found)), ...report.notes.map(wrapped)],
    billLines(found).map(wrapped),
    costLines(found).map(wrapped),
    thresholdLines(found.thresholds, width).map(printable),
    limitLines(found.limits).map(wrapped),
    tableLines(
      'project',
      report.projects.map((one) => ({ name: one.project, ...one })),
      { width, measured: found.measured },
    ),
    tableLines(
      'model',
      report.models.map((one) => ({ name: one.model, ...one })),
      { width, measured: found.measured },
    ),
    toolLines(report, width),
    [
      paint(
        'dim',
        wrapped(
          `Nothing left this machine. ${found.measured ? 'Removed tokens are estimated from the billed usage of each session; ' : ''}mcp-pruner run claude (or codex, …) prunes the next one.`,
        ),
      ),
    ],
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function whoWords({ sessions, agents, skipped }: SessionsReport): string {
  const who = Object.entries(agents).map(([agent, requests]) => `${agent} ${count(requests)}`);
  const unread = skipped > 0 ? `; ${plural(skipped, 'file')} could not be read` : '';
  return `${plural(sessions, 'session')}, requests: ${who.join(', ')}${unread}`;
}

function share(part: number, whole: number): string {
  return percent(whole > 0 ? part / whole : null);
}

function billLines({ report: { totals, lines }, throughProxy, sessions, measured }: SessionsReport): string[] {
  const input = totals.fresh + totals.write5m + totals.write1h + totals.read;
  const went =
    throughProxy > 0 ? `${plural(throughProxy, 'session')} already went through the proxy: not counted in "saved"` : '';
  const priced = totals.unpriced < totals.requests;
  const spent = `spent ${money(totals.dollars)}, by the usage in the files${totals.estimated > 0 ? ` (${plural(totals.estimated, 'request')} estimated from the totals of their session)` : ''}`;
  const saved = `with pruning ${money(totals.dollarsWith)}: ${money(totals.saved)} saved (${share(totals.saved, totals.dollars)})`;
  const tokens = `${count(totals.removed)} of ${count(input)} input tokens less (${share(totals.removed, input)})`;
  const lost =
    lines.used > 0
      ? `of ${count(lines.used)} lines that the model used again, ${count(lines.lost)} (${share(lines.lost, lines.used)}) would have been cut: at most ${(lines.lost / Math.max(1, sessions - throughProxy)).toFixed(1)} recoveries per session`
      : '';
  const unmeasured = 'with --cuts: what pruning would have saved, in some minutes';
  const found = measured ? [...(priced ? [saved] : []), tokens, lost] : [unmeasured];
  const cuts = throughProxy < sessions ? found : [];
  return [priced ? spent : 'no dollars: none of these models has a price', ...cuts, went].filter((line) => line !== '');
}

function costLines({ measured, report: { misses, compactions, rereads, offered } }: SessionsReport): string[] {
  const cold = misses
    .filter(({ cause, dollars }) => COLD[cause] !== undefined && dollars > 0)
    .map(
      ({ cause, requests, dollars }) =>
        `cold cache, ${COLD[cause]}: ${money(dollars)} in ${plural(requests, 'request')}`,
    );
  const lines = [...cold];
  if (compactions.count > 0) {
    const withCuts = measured ? `; with pruning ${count(compactions.withCuts)}` : '';
    lines.push(`compactions: ${count(compactions.count)}${withCuts}`);
  }
  if (rereads.count > 0) {
    lines.push(`the same call with the same result: ${plural(rereads.count, 'time')}, ${money(rereads.dollars)}`);
  }
  const { neverCalled } = offered;
  if (neverCalled.length > 0) {
    lines.push(`tools nobody called: ${count(neverCalled.length)} of ${count(offered.count)} (${fewOf(neverCalled)})`);
  }
  return lines;
}

function fewOf(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown}, …` : shown;
}

/** One line per rule, and the cheapest one as a sentence. */
function thresholdLines(thresholds: readonly ThresholdCost[], width: number): string[] {
  const today = thresholds.find(({ tokens }) => tokens === 'client');
  if (today === undefined) return [];
  const rows = thresholds.map((one) => [
    thresholdName(one),
    money(one.usd),
    percent(one.share),
    count(one.compactions),
  ]);
  const best = thresholds.reduce((a, b) => (b.usd < a.usd ? b : a));
  return [
    table([['compacted (simulated)', 'spent', 'of today', 'compactions'], ...rows], { width }),
    ...(best === today ? [] : [wrap(bestWords(best, today), width, 2)]),
  ];
}

function thresholdName({ tokens }: ThresholdCost): string {
  if (tokens === 'client') return 'as your clients did';
  return tokens === 'seam' ? 'where a task ends' : `at ${tokens / 1_000}k tokens`;
}

function bestWords(best: ThresholdCost, today: ThresholdCost): string {
  const { tokens, usd, compactions } = best;
  const saves = `would have cost ${money(usd)} instead of ${money(today.usd)}, for ${plural(compactions, 'compaction')} (simulated)`;
  return tokens === 'seam'
    ? `Compacting where a task ends ${saves}: run /compact there`
    : `Compacting at ${Number(tokens) / 1_000}k tokens ${saves}: mcp-pruner setup <agent> --compact-at ${Number(tokens) / 1_000}k`;
}

function tableLines(
  title: string,
  rows: readonly (PastTotals & { name: string })[],
  { width, measured }: { readonly width: number; readonly measured: boolean },
): string[] {
  const shown = rows
    .slice(0, MAX_ROWS)
    .map(({ name, requests, unpriced, dollars, saved }) => [
      named(name),
      count(requests),
      ...(unpriced === requests ? ['no price', '-'] : [money(dollars), money(saved)]),
    ]);
  const columns = measured ? 4 : 3;
  return [
    table(
      [[title, 'requests', 'spent', 'saved'], ...shown].map((row) => row.slice(0, columns)),
      { width },
    ),
  ];
}

function toolLines({ tools }: PastReport, width: number): string[] {
  const rows = tools
    .slice(0, MAX_ROWS)
    .map(({ tool, kind, texts, tokens, removed }) => [
      named(tool),
      named(kind),
      ...[texts, tokens, removed].map(count),
    ]);
  return rows.length === 0
    ? []
    : [table([['tool', 'kind', 'texts', 'tokens', 'removed'], ...rows], { textColumns: 2, width })];
}

/** Sanitises a name from a file to one line of limited length. */
function named(name: string): string {
  const line = printable(name || '-').replaceAll(/[\t\n]/g, ' ');
  return line.length > 30 ? `${line.slice(0, 29)}…` : line;
}
