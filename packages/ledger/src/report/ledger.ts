import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readContexts } from '@mcp-pruner/money/compactions.ts';
import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { errorCode } from 'mcp-pruner/base/causes.ts';
import { count } from 'mcp-pruner/base/counts.ts';
import { type Part, part, partAsHtml, rowsAsText } from 'mcp-pruner/cli/columns.ts';
import { type Call, type Io, painter, printable, textOption } from 'mcp-pruner/cli/command.ts';
import { contextText } from 'mcp-pruner/cli/context-text.ts';
import { type NamedConversation, readNewest, shortName, titled } from 'mcp-pruner/cli/conversations.ts';
import { htmlText } from 'mcp-pruner/cli/html-text.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { wrap } from 'mcp-pruner/cli/table.ts';
import { headline, money, moneyColumn, partsOf } from 'mcp-pruner/cli/words.ts';
import { type ColdStashReport, coldLines } from 'mcp-pruner/core/ports/cold-report.ts';
import type { ContextReport } from 'mcp-pruner/core/ports/context-report.ts';
import type { LedgerReport } from 'mcp-pruner/core/ports/ledger-report.ts';
import { type PrefixBreakReport, prefixBreakLine, prefixBreakLines } from 'mcp-pruner/core/ports/prefix-breaks.ts';
import { compactionWords, holdoutWords, type SeamsReport } from 'mcp-pruner/core/ports/seams-report.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { readColdFigures } from '../cold-stash.ts';
import type { ConversationsReport } from '../conversations-report.ts';
import { readReport } from '../ledger.ts';
import { readConversations } from '../listed-conversations.ts';
import { readPrefixBreaks } from '../prefix-breaks.ts';
import { type RepeatReport, repeatLine } from '../repeat-report.ts';
import { readRepeats } from '../repeats.ts';
import { sinceDayOf } from './since.ts';
import { reportText } from './text.ts';

/** The report as a self-contained HTML file without scripts; all names are escaped. */
export function reportHtml(report: LedgerReport & NewestReport, version: string): string {
  const scope = report.project === null ? 'all projects' : `project ${report.project}`;
  const body = [
    `<h1>What pruning changed</h1><p>Since ${htmlText(report.sinceDay)} (UTC), ${htmlText(scope)}. mcp-pruner ${htmlText(version)}.</p>`,
    ...report.notes.map((note) => `<p>${htmlText(note)}</p>`),
    `<dl>${headline(report)
      .map(([name, value]) => `<div><dt>${htmlText(name)}</dt><dd>${htmlText(value)}</dd></div>`)
      .join('')}</dl>`,
    daysOf(report),
    ...[...partsOf(report), conversationsPart(report)].map(partAsHtml),
    `<section><h2>How this was counted</h2><p>Tokens are those that the providers reported${report.totals.estimated > 0 ? `, except for ${htmlText(count(report.totals.estimated))} requests with estimated tokens` : ''}. Removed tokens are estimates, scaled by what was reported. "Without pruning" is the bill of the same requests without any cut, with the same cache hits. Gross is that bill minus the dollars spent; regret is the cost of text that was sent again because it had been cut; net is gross minus regret.</p></section>`,
  ];
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>mcp-pruner: what pruning changed</title><style>${STYLE}</style></head><body><main>${body.join('\n')}</main></body></html>\n`;
}

const STYLE = `:root{color-scheme:light dark;--line:#8885;--spent:#3b6fb6;--saved:#7fb069}
body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:60rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2rem 0 .3rem}p{margin:.2rem 0 .6rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.8rem}
dl div{border:1px solid var(--line);border-radius:.4rem;padding:.6rem}dt{font-size:.85rem}dd{margin:0;font-size:1.15rem;font-weight:600}
.t{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{border-bottom:1px solid var(--line);padding:.3rem .5rem;text-align:right;white-space:nowrap}.w{text-align:left}
svg{width:100%;height:auto}svg text{fill:currentColor;font:11px system-ui,sans-serif}.s{fill:var(--spent)}.g{fill:var(--saved)}`;

const MAX_DAYS = 60;
const HEIGHT = 120;

/** Bars by day: spend, and savings by pruning on top. */
function daysOf({ days }: LedgerReport): string {
  const shown = days.slice(0, MAX_DAYS).toReversed();
  const most = Math.max(...shown.map(({ dollars, dollarsWithout }) => Math.max(dollars, dollarsWithout)), 0);
  if (most === 0) return '';
  const width = 720 / shown.length;
  const bars = shown.map(({ day, dollars, dollarsWithout }, i) => {
    const spent = (HEIGHT * dollars) / most;
    const saved = (HEIGHT * Math.max(0, dollarsWithout - dollars)) / most;
    const x = (i * width + width * 0.1).toFixed(1);
    const wide = (width * 0.8).toFixed(1);
    const label = `${day}: ${money(dollars)} spent, ${money(dollarsWithout)} without pruning`;
    return `<g><title>${htmlText(label)}</title><rect class="s" x="${x}" y="${(HEIGHT - spent).toFixed(1)}" width="${wide}" height="${spent.toFixed(1)}"/><rect class="g" x="${x}" y="${(HEIGHT - spent - saved).toFixed(1)}" width="${wide}" height="${saved.toFixed(1)}"/></g>`;
  });
  const [first, last] = [shown[0]?.day ?? '', shown.at(-1)?.day ?? ''];
  return `<section><h2>Dollars by day</h2><p>Blue: spent. Green: saved by pruning.</p><svg viewBox="0 0 720 ${HEIGHT + 18}" role="img" aria-label="Dollars by day, at most ${htmlText(money(most))}">${bars.join('')}<text x="0" y="${HEIGHT + 14}">${htmlText(first)}</text><text x="720" y="${HEIGHT + 14}" text-anchor="end">${htmlText(last)}</text></svg></section>`;
}

interface NewestReport {
  readonly newest: readonly NamedConversation[];
}

const MOST_LISTED = 10;

function conversationsPart({ newest: conversations }: NewestReport): Part {
  const cost = moneyColumn(conversations.flatMap(({ dollars }) => dollars ?? []));
  const saved = moneyColumn(conversations.flatMap((one) => one.saved ?? []));
  return part(
    {
      title: 'Conversations, the newest first',
      note: 'mcp-pruner why --conversation <words of its title> explains one.',
      textColumns: 2,
    },
    [
      ['conversation', shortName],
      ['project, client, model', ({ project, client, model }) => [project, client, model].filter(Boolean).join(', ')],
      ['last (UTC)', ({ last }) => last.slice(0, 16).replace('T', ' ')],
      ['requests', ({ requests }) => count(requests)],
      ['dollars', ({ dollars }) => (dollars === null ? '-' : cost(dollars))],
      ['saved', (one) => (one.saved === null ? '-' : saved(one.saved))],
    ],
    conversations,
  );
}

function conversationsText(report: NewestReport, io: Io): string {
  const { title, note, textColumns, rows } = conversationsPart(report);
  if (report.newest.length === 0) return '';
  const paint = painter(io);
  return `\n${paint('bold', title)}\n${paint('dim', wrap(note, io.columns))}\n${rowsAsText(rows, textColumns, io.columns)}\n`;
}

interface BreaksReport {
  readonly prefix_breaks: PrefixBreakReport;
}

export async function ledgerView(call: Call, io: Io, days: number): Promise<number> {
  const ledger = await readLedger(call, io, days);
  if (call.values.json === true) io.out(`${JSON.stringify(ledger, null, 2)}\n`);
  else if (textOption(call, 'html') !== undefined) writeHtml(call, io, ledger);
  else {
    const rest = contextText(ledger) + seamsText(ledger) + coldText(ledger) + repeatText(ledger) + breaksText(ledger);
    const fitted = rest.split('\n').map((line) => wrap(line, io.columns, 4));
    io.out(reportText(ledger, painter(io), io.columns) + conversationsText(ledger, io) + fitted.join('\n'));
  }
  return 0;
}

type WholeReport = LedgerReport &
  ContextReport &
  ColdStashReport &
  RepeatReport &
  BreaksReport &
  ConversationsReport &
  NewestReport &
  Partial<SeamsReport>;

/** Reads the ledger of the last `days` days, including today. @throws UserError if there is no store */
export async function readLedger(call: Call, io: Io, days: number): Promise<WholeReport> {
  const { settings } = readSettings(call, io);
  const prices = pricesOf(settings);
  const sinceDay = sinceDayOf(io, days);
  const project = textOption(call, 'project');
  const query = { sinceDay, project };
  const { readSeams } = io.edition;
  const period = { sinceMs: Date.parse(sinceDay), nowMs: io.clock.nowMs(), project };
  return withStore(call, io, async (store) => {
    const { ledger, compactions } = store;
    return {
      ...(await readReport(ledger, query, prices)),
      newest: await readNewest(store, { ...period, limit: MOST_LISTED }),
      ...(await titled(store, await readContexts(compactions, query))),
      ...(await readColdFigures(ledger, settings.coldStash, query)),
      ...(await readRepeats(ledger, query)),
      prefix_breaks: await readPrefixBreaks(ledger, query),
      ...(await readConversations(ledger, query)),
      ...(readSeams && (await readSeams(store, settings, period))),
    };
  });
}

function coldText(ledger: ColdStashReport): string {
  const lines = coldLines(ledger, money);
  return lines.length === 0 ? '' : `\n${lines.join('\n')}\n`;
}

function repeatText(ledger: RepeatReport): string {
  const line = repeatLine(ledger, money);
  return line === '' ? '' : `\n${line}\n`;
}

/** Smaller amounts of finished work are not reported, in dollars. */
const LEAST_FINISHED = 0.5;

function seamsText({ seams, totals }: Partial<SeamsReport> & Pick<LedgerReport, 'totals'>): string {
  if (seams === undefined) return '';
  return finishedText(seams, totals.dollars) + compactionsText(seams);
}

function finishedText(seams: SeamsReport['seams'], dollars: number): string {
  if (seams.weight_usd < LEAST_FINISHED) return '';
  const [largest] = seams.conversations;
  const most = largest ? `, the largest with ${count(largest.weight_tokens)} tokens` : '';
  const advice = 'report --sessions simulates what compacting would have saved';
  return `\nFinished work: ${money(seams.weight_usd)} of ${money(dollars)} repeated it${most}; ${advice}\n`;
}

function compactionsText({ compactions, payback, holdout }: SeamsReport['seams']): string {
  const words = [compactionWords(compactions, payback, money), holdoutWords(holdout, money)];
  return words.map((line) => (line === '' ? '' : `\n${line}\n`)).join('');
}

function breaksText({ prefix_breaks: breaks }: BreaksReport): string {
  if (breaks.requests === 0) return '';
  const named = prefixBreakLines(breaks).map((line) => `  ${printable(line)}\n`);
  return `\n${prefixBreakLine(breaks)}\n${named.join('')}`;
}

function writeHtml(call: Call, io: Io, ledger: LedgerReport & NewestReport): void {
  const path = resolve(io.cwd, textOption(call, 'html') ?? '');
  try {
    writeFileSync(path, reportHtml(ledger, io.version));
  } catch (cause) {
    throw new UserError(`cannot write ${path}: ${errorCode(cause) || 'error'}`, { cause });
  }
  io.out(`${path}\n`);
}
