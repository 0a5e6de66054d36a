import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCode } from '../../base/causes.ts';
import { type ColdStashReport, coldLines } from '../../core/ports/cold-report.ts';
import type { ContextReport } from '../../core/ports/context-report.ts';
import type { LedgerReport } from '../../core/ports/ledger-report.ts';
import { type PrefixBreakReport, prefixBreakLine, prefixBreakLines } from '../../core/ports/prefix-breaks.ts';
import { UserError } from '../../errors/errors.ts';
import { type Call, type Io, textOption } from '../command.ts';
import { contextText } from '../context-text.ts';
import { withStore } from '../open-store.ts';
import { readSettings } from '../read-settings.ts';
import { readShelf, type ShelfReport, shelfText } from '../shelf-text.ts';
import { wrap } from '../table.ts';
import { painter, printable } from '../terminal.ts';
import { reportHtml } from './html.ts';
import { sinceDayOf } from './since.ts';
import { reportText } from './text.ts';
import { money } from './words.ts';

interface BreaksReport {
  readonly prefix_breaks: PrefixBreakReport;
}

/** The report without a view of its own: what was spent, what pruning changed, and why caches missed. */
export async function ledgerView(call: Call, io: Io, days: number): Promise<number> {
  const ledger = await readLedger(call, io, days);
  if (call.values.json === true) io.out(`${JSON.stringify(ledger, null, 2)}\n`);
  else if (textOption(call, 'html') !== undefined) writeHtml(call, io, ledger);
  else {
    const rest = contextText(ledger) + coldText(ledger) + shelfText(ledger) + breaksText(ledger);
    const fitted = rest.split('\n').map((line) => wrap(line, io.columns, 4));
    io.out(reportText(ledger, painter(io), io.columns) + fitted.join('\n'));
  }
  return 0;
}

/** The ledger of the last `days` days, including today. @throws UserError if there is no store */
export async function readLedger(
  call: Call,
  io: Io,
  days: number,
): Promise<LedgerReport & ContextReport & ColdStashReport & ShelfReport & BreaksReport> {
  const [{ readReport }, { pricesOf }, { readContexts }, { readColdFigures }, { readPrefixBreaks }] = await Promise.all(
    [
      import('../../ledger/ledger.ts'),
      import('../../ledger/installed-prices.ts'),
      import('../../ledger/compactions.ts'),
      import('../../ledger/cold-stash.ts'),
      import('../../ledger/prefix-breaks.ts'),
    ],
  );
  const { settings } = readSettings(call, io);
  const prices = pricesOf(settings);
  const sinceDay = sinceDayOf(io, days);
  const project = textOption(call, 'project');
  const query = { sinceDay, project };
  return withStore(call, io, async ({ ledger, compactions, shelf }) => ({
    ...(await readReport(ledger, query, prices)),
    ...(await readContexts(compactions, query)),
    ...(await readColdFigures(ledger, settings.coldStash, query)),
    ...(await readShelf(shelf, settings.toolShelf, query)),
    prefix_breaks: await readPrefixBreaks(ledger, query),
  }));
}

function coldText(ledger: ColdStashReport): string {
  const lines = coldLines(ledger, money);
  return lines.length === 0 ? '' : `\n${lines.join('\n')}\n`;
}

function breaksText({ prefix_breaks: breaks }: BreaksReport): string {
  if (breaks.requests === 0) return '';
  const named = prefixBreakLines(breaks).map((line) => `  ${printable(line)}\n`);
  return `\n${prefixBreakLine(breaks)}\n${named.join('')}`;
}

function writeHtml(call: Call, io: Io, ledger: LedgerReport): void {
  const path = resolve(io.cwd, textOption(call, 'html') ?? '');
  try {
    writeFileSync(path, reportHtml(ledger, io.version));
  } catch (cause) {
    throw new UserError(`cannot write ${path}: ${errorCode(cause) || 'error'}`, { cause });
  }
  io.out(`${path}\n`);
}
