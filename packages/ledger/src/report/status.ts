import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { type Call, type Io, printableLine } from 'mcp-pruner/cli/command.ts';
import { shortName } from 'mcp-pruner/cli/conversations.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { proxyHealth, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import { wrapped } from 'mcp-pruner/cli/table.ts';
import { money } from 'mcp-pruner/cli/words.ts';
import { dataFolder } from 'mcp-pruner/config/paths.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { CompactionReport } from 'mcp-pruner/core/ports/context-report.ts';
import type { LedgerTotals } from 'mcp-pruner/core/ports/ledger-report.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { makeFolder } from 'mcp-pruner/store/sqlite/make-folder.ts';

const DAYS = 7;
/** How long a hook, and thus the agent, waits for a started proxy. */
const START_MS = 15_000;
const POLL_MS = 100;
/** Variables with the URL of an agent's provider. */
const BASE_URLS = ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'];

/**
 * `mcp-pruner report --status`: proxy state and savings in one line. With `--hook`, in the form that a session-start
 * hook of an agent needs; the line then says how to start a proxy that does not run, or how to undo the set-up.
 *
 * @returns 1 where no proxy runs, but always 0 for a hook
 */
export async function statusView(call: Call, io: Io): Promise<number> {
  const { settings } = readSettings(call, io);
  const hook = call.values.hook === true;
  const isUp = (await proxyHealth(proxyUrl(settings))) !== null;
  const started = !isUp && hook && settings.startFromHook && (await startProxy(settings, io));
  const line = isUp || started ? await lineWhenUp(call, io, settings) : lineWhenDown(settings, io);
  if (!hook) io.out(wrapped(line, '', io, '  '));
  // agents that do not use the proxy need no warning that it is not running
  else if (isUp || started || leadsHere(settings, io)) io.out(`${JSON.stringify({ systemMessage: line })}\n`);
  return isUp || started || hook ? 0 : 1;
}

async function lineWhenUp(call: Call, io: Io, settings: Settings): Promise<string> {
  const up = `mcp-pruner: the proxy runs at ${proxyUrl(settings)}`;
  const { readLedger } = await import('./ledger.ts');
  const report = await readLedger(call, io, DAYS).catch((cause: unknown) => {
    if (cause instanceof UserError) return cause.message; // the proxy may use a store on another machine
    throw cause;
  });
  if (typeof report === 'string') return `${up}; what it saved cannot be read here: ${report}`;
  if (report.totals.requests === 0) return `${up}; no request in ${DAYS} days`;
  const [newest] = call.values.hook === true ? [] : report.newest;
  const last = newest?.title
    ? `; newest: "${printableLine(shortName(newest))}" (${printableLine(newest.project)})`
    : '';
  return `${up}; ${formatSavings(report)} in ${DAYS} days${last}`;
}

interface Saved {
  readonly totals: Pick<LedgerTotals, 'removedNew' | 'net' | 'unpriced' | 'requests'>;
  readonly compactions: Pick<CompactionReport, 'avoided'>;
}

/** Short form of the savings: tokens, net dollars if prices are known, and avoided compactions, if any. */
export function formatSavings({ totals, compactions }: Saved): string {
  const { removedNew, net, unpriced, requests } = totals;
  const { avoided } = compactions;
  const dollars = unpriced < requests ? ` (${money(net, 2)})` : '';
  const contexts = avoided > 0 ? `, ${avoided} ${avoided === 1 ? 'compaction' : 'compactions'} avoided` : '';
  return `${compact(removedNew)} tokens saved${dollars}${contexts}`;
}

function lineWhenDown(settings: Settings, io: Io): string {
  const url = proxyUrl(settings);
  if (!leadsHere(settings, io)) return `mcp-pruner: no proxy runs at ${url}; mcp-pruner serve starts one`;
  return (
    `mcp-pruner: this agent sends its requests to ${url}, where no proxy runs. ` +
    'Start it with: mcp-pruner serve. Or undo the set-up with: mcp-pruner setup <agent> --undo'
  );
}

/** Whether the calling agent is set up for the configured proxy. */
function leadsHere(settings: Settings, { env }: Io): boolean {
  const own = proxyUrl(settings);
  return BASE_URLS.some((name) => {
    const url = env[name] ?? '';
    return URL.canParse(url) && new URL(url).origin === own;
  });
}

/** Starts the proxy in the background, with its log in the store's folder. @returns whether it answers */
async function startProxy(settings: Settings, io: Io): Promise<boolean> {
  const [program = ''] = process.argv.slice(1);
  const folder = dataFolder(io, settings.dbPath);
  makeFolder(folder);
  const log = openSync(join(folder, 'serve.log'), 'a', 0o600);
  try {
    const child = spawn(process.execPath, [program, 'serve'], { detached: true, stdio: ['ignore', log, log] });
    child.on('error', () => undefined); // the check below reports that it is not running
    child.unref();
  } finally {
    closeSync(log);
  }
  const endMs = io.clock.nowMs() + START_MS;
  while (io.clock.nowMs() < endMs) {
    if ((await proxyHealth(proxyUrl(settings))) !== null) return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return false;
}

function compact(tokens: number): string {
  if (tokens < 10_000) return String(Math.round(tokens));
  return tokens < 1_000_000 ? `${Math.round(tokens / 1_000)}k` : `${(tokens / 1_000_000).toFixed(1)}M`;
}
