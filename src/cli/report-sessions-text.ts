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
  const named = (name: string): string => printable(name || '-').replaceAll(/[\t\n]/g, ' ');
  const rows = (words: number, all: readonly (readonly string[])[]): string =>
    table(all, { words, ...(width !== undefined && { width }) });
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
    rows(1, [
      ['project', 'requests', 'spent', 'saved'],
      ...report.projects
        .slice(0, MAX_ROWS)
        .map((one) => [
          named(one.project),
          count(one.requests),
          money(one.dollars),
          money(one.dollars - one.dollarsWithout),
        ]),
    ]),
    '',
    rows(1, [
      ['model', 'requests', 'spent', 'saved'],
      ...report.models
        .slice(0, MAX_ROWS)
        .map((one) => [
          named(one.model),
          count(one.requests),
          one.unpriced === one.requests ? 'no price' : money(one.dollars),
          one.unpriced === one.requests ? '-' : money(one.dollars - one.dollarsWithout),
        ]),
    ]),
    '',
    rows(2, [
      ['tool', 'kind', 'texts', 'cut', 'tokens', 'removed'],
      ...report.tools
        .toSorted((a, b) => b.removed - a.removed)
        .slice(0, MAX_ROWS)
        .map((one) => [
          named(one.tool),
          named(one.kind),
          count(one.texts),
          count(one.cut),
          count(one.tokens),
          count(one.removed),
        ]),
    ]),
    '',
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
