import { finishedWords } from '@mcp-pruner/money/finished-work.ts';
import { points } from 'mcp-pruner/base/decimals.ts';
import { type Io, painter, printableLine } from 'mcp-pruner/cli/command.ts';
import { table, wrapped } from 'mcp-pruner/cli/table.ts';
import { undecidedWords } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { HeldOut, LimitsReport, SeamShown, WindowShown } from './shapes.ts';
import { localTime, percent, timeLeft } from './words.ts';

interface TextOptions {
  readonly nowMs: number;
  /** Names of access keys by id. */
  readonly keys: ReadonlyMap<string, string>;
  readonly io: Pick<Io, 'columns' | 'env' | 'outIsTerminal'>;
}

/** Maximum number of sessions, projects and keys listed per window. */
const MOST_LISTED = 5;
const SESSION_CHARS = 8;
const BAR = 20;
/** Used shares at which a bar turns yellow and red. */
const WARN = 0.8;
const FULL = 0.95;
const PROVIDERS: Readonly<Record<string, string>> = { anthropic: 'Claude', openai: 'ChatGPT' };

export function limitsText(
  { accounts, seam }: LimitsReport & { readonly seam: SeamShown | null },
  options: TextOptions,
): string {
  const work = seam && { tokens: seam.weight_tokens, dollars: seam.price_usd, client: seam.client };
  const finished = finishedWords(work);
  return accountsText(accounts, options) + (finished === null ? '' : `\n${wrapped(finished, '', options.io)}`);
}

function accountsText(accounts: LimitsReport['accounts'], options: TextOptions): string {
  if (accounts.length === 0) {
    const none =
      'no limits are known now: no answer reported any, or the windows that answers reported were reset since. The next answer to a subscription login reports them; API keys have none.';
    return wrapped(none, '', options.io);
  }
  return accounts
    .map(({ account, provider, plan, windows }) => {
      const title = [`${PROVIDERS[provider] ?? provider} subscription`, plan && `plan ${plan}`, `account ${account}`];
      const head = painter(options.io)('bold', printableLine(title.filter(Boolean).join(', ')));
      return `${head}\n\n${windows.map((window) => windowText(window, options)).join('\n')}`;
    })
    .join('\n');
}

function windowText(window: WindowShown, { nowMs, keys, io }: TextOptions): string {
  const { used, resetsAt, elsewhere, sessions, projects, saved, holdout } = window;
  const paint = painter(io);
  const style = used >= FULL ? 'red' : used >= WARN ? 'yellow' : 'green';
  const filled = Math.min(BAR, Math.round(used * BAR));
  const bar = paint(style, '█'.repeat(filled)) + paint('dim', '░'.repeat(BAR - filled));
  const head = `${printableLine(window.window)}  ${bar}  ${percent(used)} used${window.status === 'rejected' ? ', rejected' : ''}\n`;
  const reset = `resets ${localTime(resetsAt, nowMs)}, in ${timeLeft(Date.parse(resetsAt) - nowMs)}`;
  const rows = [
    ...sessions
      .filter((one) => one.used > 0)
      .slice(0, MOST_LISTED)
      .map((one) => [
        'session',
        `${one.session.slice(0, SESSION_CHARS)} (${one.project})`,
        ofWindow(one.used, one.shared),
      ]),
    ...(projects.length > 1 ? projects.slice(0, MOST_LISTED) : []).map((one) => [
      'project',
      one.project,
      ofWindow(one.used),
    ]),
    ...window.keys.slice(0, MOST_LISTED).map((one) => ['key', keys.get(one.key) ?? one.key, ofWindow(one.used)]),
    ...(elsewhere > 0 ? [['elsewhere', '', ofWindow(elsewhere)]] : []),
  ].map((row) => row.map(printableLine));
  const width = io.columns === undefined ? undefined : io.columns - 4;
  const shares = rows.length === 0 ? '' : `${table(rows, { textColumns: 2, width }).replace(/^/gm, '    ')}\n`;
  return (
    head +
    wrapped(`${reset}; ${paceText(window, nowMs)}`, '    ', io) +
    shares +
    wrapped(savingsText(saved), '    ', io) +
    (holdout === null ? '' : wrapped(heldOutText(holdout), '    ', io))
  );
}

function paceText({ pace: { usedUpAt }, used }: WindowShown, nowMs: number): string {
  if (used >= 1) return 'used up';
  return usedUpAt === null
    ? 'at the rate of the last 24 hours it lasts until the reset'
    : `at the rate of the last 24 hours it is used up ${localTime(usedUpAt, nowMs)}`;
}

function ofWindow(used: number, shared = 0): string {
  return `${points(used)} %${shared > 0 ? ' (shared)' : ''}`;
}

function savingsText(saved: WindowShown['saved']): string {
  if (saved === null) return 'saved by pruning: too few readings to tell';
  return `saved by pruning: ${points(saved.used)} % (${points(saved.low)} to ${points(saved.high)})`;
}

function heldOutText({ pruned, control, interval, tooSkewed, conversations }: HeldOut): string {
  const of = (share: number): string => `${(share * 100).toFixed(2)} %`;
  const means = `a conversation with pruning used ${of(pruned)}, one held out ${of(control)} (${conversations.pruned} and ${conversations.control})`;
  if (interval === null) return `${means}: ${undecidedWords(tooSkewed)}`;
  const [low, high] = interval;
  return `${means}; the difference is between ${of(low)} and ${of(high)}`;
}
