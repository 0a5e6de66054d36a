import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { LedgerReport } from '../../core/ports/ledger-report.ts';
import { type PrefixBreakReport, prefixBreakLine } from '../../core/ports/prefix-breaks.ts';
import { UserError } from '../../errors/errors.ts';
import type { ContextReport } from '../../ledger/compactions.ts';
import { SPENT_BY, type SpentBy } from '../../ledger/spent-by.ts';
import { type Call, type Command, configOption, type Io, textOption, UsageError } from '../command.ts';
import { contextText } from '../context-text.ts';
import { withStore } from '../open-store.ts';
import { readSettings } from '../read-settings.ts';
import { readShelf, type ShelfReport, shelfText } from '../shelf-text.ts';
import { painter } from '../terminal.ts';
import { reportHtml } from './html.ts';
import { reportText } from './text.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
const DEFAULT_SESSION_DAYS = 30;
const DAYS_BY_UNIT: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30, y: 365 };

/** `mcp-pruner report`: what was spent, what pruning changed, and why caches missed. */
export const report: Command = {
  usage:
    'report [--since 7d] [--project <name>] [--json | --html out.html] | report --by key|project|model|day [--csv | --json] | report --sessions [--since 30d] [--json | --share] | report --from rows.ndjson [--json]',
  about: [
    'Shows what requests cost in dollars, what pruning saved and what its mistakes cost, the control group, and why the',
    'prompt cache missed. --sessions instead reads the session files that agents keep on this machine (Claude Code, Codex,',
    'opencode, Gemini CLI, Cline, Copilot CLI): what they cost, and what pruning would have changed. Nothing is sent or stored.',
  ].join('\n'),
  options: {
    ...configOption,
    since: {
      type: 'string',
      value: '<time>',
      doc: `how far back, such as 1d, 2w, 3m (default ${DEFAULT_DAYS}d; --sessions ${DEFAULT_SESSION_DAYS}d)`,
    },
    project: { type: 'string', value: '<name>', doc: 'only this project' },
    by: { type: 'string', value: '<what>', doc: `a row for each ${SPENT_BY.join(', ')}: tokens, dollars, saved` },
    csv: { type: 'boolean', doc: 'with --by: print CSV' },
    json: { type: 'boolean', doc: 'print JSON' },
    html: { type: 'string', value: '<file>', doc: 'write a self-contained HTML file' },
    from: { type: 'string', value: '<file>', doc: 'compare the conversations of a file with its control group' },
    share: { type: 'boolean', doc: 'with --sessions: a block of figures to post, without paths, names or texts' },
    sessions: { type: 'boolean', doc: 'what pruning would have changed in the sessions on this machine' },
  },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    if (call.values.sessions === true) {
      const { reportSessions } = io.edition;
      if (reportSessions === undefined) throw new UsageError('this edition reads no sessions: omit --sessions');
      return reportSessions(call, io, daysOf(call, DEFAULT_SESSION_DAYS));
    }
    if (call.values.json === true && textOption(call, 'html') !== undefined) {
      throw new UsageError('--html and --json exclude each other: run report once for each');
    }
    if (call.values.share === true) throw new UsageError('--share needs --sessions');
    const days = daysOf(call, DEFAULT_DAYS);
    const from = textOption(call, 'from');
    if (from !== undefined) {
      const [{ holdoutFrom }, { comparedText }] = await Promise.all([import('./from.ts'), import('./text.ts')]);
      const holdout = holdoutFrom(from, io.cwd);
      const asText = (): string => comparedText(holdout, painter(io), io.columns);
      io.out(call.values.json === true ? `${JSON.stringify({ holdout }, null, 2)}\n` : asText());
      return 0;
    }
    const by = reportedBy(call);
    if (by !== null) return reportBy(call, io, by, days);
    const ledger = await readLedger(call, io, days);
    if (call.values.json === true) io.out(`${JSON.stringify(ledger, null, 2)}\n`);
    else if (textOption(call, 'html') !== undefined) writeHtml(call, io, ledger);
    else
      io.out(
        reportText(ledger, painter(io), io.columns) + contextText(ledger) + shelfText(ledger) + breaksText(ledger),
      );
    return 0;
  },
};

/** @throws UsageError */
function reportedBy(call: Call): SpentBy | null {
  const by = textOption(call, 'by');
  const found = SPENT_BY.find((known) => known === by);
  if (by !== undefined && !found) {
    throw new UsageError(`--by ${JSON.stringify(by)} is not one of ${SPENT_BY.join(', ')}`);
  }
  if (by === undefined && call.values.csv === true) throw new UsageError('--csv needs --by');
  if (call.values.csv === true && call.values.json === true)
    throw new UsageError('--csv and --json exclude each other');
  if (by !== undefined && textOption(call, 'html') !== undefined)
    throw new UsageError('--by and --html exclude each other');
  return found ?? null;
}

async function reportBy(call: Call, io: Io, by: SpentBy, days: number): Promise<number> {
  const [{ readSpend }, { spendCsv, spendText }] = await Promise.all([
    import('../../ledger/spend.ts'),
    import('./by.ts'),
  ]);
  const query = { by, sinceDay: sinceDayOf(io, days), project: textOption(call, 'project') };
  const rows = await withStore(call, io, async (store) => {
    const keys = by === 'key' ? await store.keys() : null;
    return readSpend(store.ledger, keys, query, io.clock.nowMs());
  });
  if (call.values.csv === true) io.out(spendCsv(rows, by));
  else if (call.values.json === true) io.out(`${JSON.stringify({ by, sinceDay: query.sinceDay, rows }, null, 2)}\n`);
  else io.out(spendText(rows, by, query.sinceDay, io.columns));
  return 0;
}

function sinceDayOf(io: Io, days: number): string {
  return new Date(io.clock.nowMs() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}

/** The ledger of the last `days` days, including today. @throws UserError if there is no store */
export async function readLedger(
  call: Call,
  io: Io,
  days: number,
): Promise<LedgerReport & ContextReport & ShelfReport & BreaksReport> {
  const [{ readReport }, { pricesOf }, { readContexts }, { readPrefixBreaks }] = await Promise.all([
    import('../../ledger/ledger.ts'),
    import('../../ledger/installed-prices.ts'),
    import('../../ledger/compactions.ts'),
    import('../../ledger/prefix-breaks.ts'),
  ]);
  const { settings } = readSettings(call, io);
  const prices = pricesOf(settings);
  const sinceDay = sinceDayOf(io, days);
  const project = textOption(call, 'project');
  const query = { sinceDay, project };
  return withStore(call, io, async ({ ledger, compactions, shelf }) => ({
    ...(await readReport(ledger, query, prices)),
    ...(await readContexts(compactions, query)),
    ...(await readShelf(shelf, settings.toolShelf, query)),
    prefix_breaks: await readPrefixBreaks(ledger, query),
  }));
}

interface BreaksReport {
  readonly prefix_breaks: PrefixBreakReport;
}

function breaksText({ prefix_breaks: breaks }: BreaksReport): string {
  return breaks.requests === 0 ? '' : `\n${prefixBreakLine(breaks)}\n`;
}

function writeHtml(call: Call, io: Io, ledger: LedgerReport): void {
  const path = resolve(io.cwd, textOption(call, 'html') ?? '');
  try {
    writeFileSync(path, reportHtml(ledger, io.version));
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'error';
    throw new UserError(`cannot write ${path}: ${code}`, { cause });
  }
  io.out(`${path}\n`);
}

function daysOf(call: Call, usual: number): number {
  const text = textOption(call, 'since') ?? `${usual}d`;
  const [, digits, unit = 'd'] = /^(\d{1,5})([dwmy]?)$/.exec(text) ?? [];
  const days = Number(digits ?? 0) * (DAYS_BY_UNIT[unit || 'd'] ?? 1);
  if (days < 1) throw new UsageError(`--since ${JSON.stringify(text)} is not a time such as 7d, 2w or 3m`);
  return Math.min(days, 36_500);
}
