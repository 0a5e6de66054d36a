import type { LedgerReport } from '../core/ports/ledger.ts';
import { table } from '../eval/table.ts';
import { count, money, percent } from './report-words.ts';
import { type Paint, printable } from './terminal.ts';

/** What the sessions on a machine come to. In `report` the bill "without" is the one with pruning. */
export interface SessionTotals {
  readonly files: number;
  /** Files that could not be read. */
  readonly skipped: number;
  /** Requests by agent. */
  readonly agents: Readonly<Record<string, number>>;
  readonly report: LedgerReport;
}

const MAX_ROWS = 12;

/** What pruning would have changed, as a page of text. @param width - of the terminal */
export function sessionsText({ files, skipped, agents, report }: SessionTotals, paint: Paint, width?: number): string {
  const { totals } = report;
  const saved = totals.dollars - totals.dollarsWithout;
  const input = totals.fresh + totals.write5m + totals.write1h + totals.read;
  const share = (part: number, whole: number): string => percent(whole > 0 ? part / whole : null);
  const who = Object.entries(agents).map(([agent, requests]) => `${agent} ${count(requests)}`);
  const tables = [projectRows, modelRows, toolRows].flatMap((rowsOf) => {
    const { words, rows } = rowsOf(report);
    return [table(rows, { words, ...(width !== undefined && { width }) }), ''];
  });
  const lines = [
    paint('bold', `What pruning would have changed since ${report.sinceDay}`),
    `${count(files)} session files, ${count(totals.requests)} requests (${who.join(', ')})${skipped > 0 ? `, ${count(skipped)} files could not be read` : ''}. Nothing left this machine.`,
    '',
    table([
      ['spent, by the usage in the files', money(totals.dollars)],
      ['with pruning', money(totals.dollarsWithout)],
      ['saved, before what the cuts cost', `${money(saved)} (${share(saved, totals.dollars)})`],
      [
        'input tokens that would not have been sent',
        `${count(-totals.removed)} of ${count(input)} (${share(-totals.removed, input)})`,
      ],
    ]),
    '',
    ...tables,
    paint(
      'dim',
      'Removed tokens are estimates, scaled by what was billed. Whether a cut line would have been missed later is not in',
    ),
    paint(
      'dim',
      'this figure: serve with MCP_PRUNER_HOLDOUT=0.1 and mcp-pruner report tells it against a control group.',
    ),
  ];
  return `${lines.join('\n')}\n`;
}

interface Rows {
  /** How many first columns are words. */
  readonly words: number;
  readonly rows: readonly (readonly string[])[];
}

function projectRows({ projects }: LedgerReport): Rows {
  const rows = projects
    .slice(0, MAX_ROWS)
    .map(({ project, requests, dollars, dollarsWithout }) => [
      named(project),
      count(requests),
      money(dollars),
      money(dollars - dollarsWithout),
    ]);
  return { words: 1, rows: [['project', 'requests', 'spent', 'saved'], ...rows] };
}

function modelRows({ models }: LedgerReport): Rows {
  const rows = models
    .slice(0, MAX_ROWS)
    .map(({ model, requests, unpriced, dollars, dollarsWithout }) => [
      ...[named(model), count(requests)],
      ...(unpriced === requests ? ['no price', '-'] : [money(dollars), money(dollars - dollarsWithout)]),
    ]);
  return { words: 1, rows: [['model', 'requests', 'spent', 'saved'], ...rows] };
}

/** The most removed first. */
function toolRows({ tools }: LedgerReport): Rows {
  const rows = tools
    .toSorted((a, b) => b.removed - a.removed)
    .slice(0, MAX_ROWS)
    .map(({ tool, kind, texts, cut, tokens, removed }) => [
      ...[named(tool), named(kind)],
      ...[texts, cut, tokens, removed].map(count),
    ]);
  return { words: 2, rows: [['tool', 'kind', 'texts', 'cut', 'tokens', 'removed'], ...rows] };
}

function named(name: string): string {
  return printable(name || '-').replaceAll(/[\t\n]/g, ' ');
}
