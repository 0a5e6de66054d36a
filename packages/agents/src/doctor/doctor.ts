import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { priceNotes } from '@mcp-pruner/money/price-notes.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import { precedes } from '@mcp-pruner/money/versions.ts';
import type { Finding } from 'mcp-pruner/app/finding.ts';
import {
  type Command,
  configOption,
  fileReader,
  flag,
  type Io,
  painter,
  printableLine,
} from 'mcp-pruner/cli/command.ts';
import { pauseWords } from 'mcp-pruner/cli/context-text.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { type ProxyHealth, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import { wrapped } from 'mcp-pruner/cli/table.ts';
import { money } from 'mcp-pruner/cli/words.ts';
import type { Loaded } from 'mcp-pruner/config/load.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { SettingsError } from 'mcp-pruner/config/settings-error.ts';
import { isAnthropicsOwn, isGuarded, servingProblem } from 'mcp-pruner/config/warnings.ts';
import { hourCacheWords } from 'mcp-pruner/core/miss-causes.ts';
import { prefixBreakLine } from 'mcp-pruner/core/ports/prefix-breaks.ts';
import { alarmWords } from 'mcp-pruner/core/saving-alarm.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import type { Dialect } from 'mcp-pruner/wires/dialects/dialect.ts';
import { claude, FIRST_PARTY, isAsFirstParty } from '../clients/claude.ts';
import type { ClientPlace } from '../clients/client.ts';
import { checkAddresses } from './addresses.ts';
import { type AgentFindings, checkAgents } from './agents.ts';
import { checkPort, checkUpstreams } from './proxy.ts';
import { checkStore } from './store.ts';
import { checkTeamKeys } from './team.ts';
import { checkUnread } from './unread.ts';

const NODE = '20.18.1';

export const doctor: Command = {
  usage: 'doctor [--json]',
  about: [
    'Checks Node, configuration, port, upstream, store, token, agents that are set up and addresses on which nothing listens,',
    'and suggests fixes. Exits with 1 if something is broken. Sends keys and tokens only to their own proxy, and no text of yours.',
  ].join('\n'),
  options: { ...configOption, json: flag('print JSON') },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    const findings = await examine(() => readSettings(call, io), io);
    if (call.values.json === true) io.out(`${JSON.stringify(findings, null, 2)}\n`);
    else for (const finding of findings) io.out(linesOf(finding, io));
    return findings.some(({ level }) => level === 'failure') ? 1 : 0;
  },
};

export function linesOf({ level, what, advice }: Finding, io: Pick<Io, 'env' | 'outIsTerminal' | 'columns'>): string {
  const paint = painter(io);
  const label = { ok: 'ok  ', note: 'note', failure: 'FAIL' }[level];
  const colour = ({ ok: 'green', note: 'yellow', failure: 'red' } as const)[level];
  const indent = ' '.repeat(label.length + 2);
  // names in findings (models, paths, clients) come from callers
  const text = wrapped(printableLine(what), indent, io).replace(indent, () => `${paint(colour, label)}  `);
  return advice === undefined ? text : text + wrapped(printableLine(advice), indent, io);
}

interface Examined {
  readonly loaded: Loaded;
  readonly settings: Settings;
  readonly io: Io;
  readonly port: Awaited<ReturnType<typeof checkPort>>;
  readonly running: Awaited<ReturnType<typeof checkPort>>['health'];
  readonly agents: Awaited<ReturnType<typeof checkAgents>>;
}

/** The checks, in the order in which findings are printed. They run concurrently. */
const checks: readonly ((examined: Examined) => Promise<readonly Finding[]> | readonly Finding[])[] = [
  () => [checkNode(process.versions.node)],
  ({ loaded }) => checkConfiguration(loaded),
  ({ loaded }) => [checkToken(loaded)],
  async ({ settings, io }) => (await Promise.all(io.edition.checks.map((check) => check(settings, io)))).flat(),
  ({ port }) => [port.finding],
  ({ running }) => checkUnread(running),
  ({ running }) => checkPrefixes(running),
  ({ running }) => checkSaving(running),
  ({ loaded, running, agents, io }) => checkUsedUpstreams(loaded, running, agents.wires, io),
  async ({ settings, io, running }) => [await checkStore(settings, io, running)],
  ({ settings, io }) => checkPrices(settings, io),
  ({ settings, io }) => checkPauses(settings, io),
  ({ agents }) => agents.findings,
  ({ settings, io }) => checkFirstParty(settings, { env: io.env, homeDir: io.homeDir, readFile: fileReader(io) }),
  ({ io }) => checkTeamKeys(io),
  ({ settings, io, agents }) => checkAddresses(settings, io, agents.own),
];

/** @param read - reads the configuration, or throws `SettingsError` */
export async function examine(read: () => Loaded, io: Io): Promise<Finding[]> {
  let loaded: Loaded;
  try {
    loaded = read();
  } catch (cause) {
    if (!(cause instanceof SettingsError)) throw cause;
    return [checkNode(process.versions.node), ...cause.problems.map((what) => ({ level: 'failure', what }) as const)];
  }
  const { settings } = loaded;
  const port = await checkPort(settings);
  const agents = await checkAgents(settings, io, port.health);
  const examined = { loaded, settings, io, port, running: port.health, agents };
  return (await Promise.all(checks.map((check) => check(examined)))).flat();
}

export function checkNode(version: string): Finding {
  if (!precedes(version, NODE)) return { level: 'ok', what: `Node ${version}` };
  return { level: 'failure', what: `Node ${version} is too old`, advice: `install ${NODE} or newer` };
}

function checkConfiguration({ configFile, warnings }: Loaded): Finding[] {
  const file: Finding = { level: 'ok', what: `configuration: ${configFile ?? 'no file, environment and defaults'}` };
  return [file, ...warnings.map((what) => ({ level: 'note', what }) as const)];
}

function checkToken({ settings, table }: Loaded): Finding {
  const problem = servingProblem(settings, table);
  if (problem !== null) return { level: 'failure', what: problem };
  if (settings.authToken !== null) return { level: 'ok', what: 'a token is set' };
  const own = settings.localToken === 'auto';
  if (isGuarded(settings, table.parts) && !own) return { level: 'ok', what: 'no token needed: keys are required' };
  return { level: 'ok', what: own ? "this user's token is required" : 'no token needed: only this machine has access' };
}

/** Reports the running proxy's alarm: many consecutive requests with large results saved nothing. */
function checkSaving(running: Pick<ProxyHealth, 'savingAlarm'> | null): Finding[] {
  return running?.savingAlarm ? [{ level: 'note', ...alarmWords(running.savingAlarm) }] : [];
}

/** Checks the upstreams of configured agents, and of the conversations of the last month. */
async function checkUsedUpstreams(
  loaded: Loaded,
  running: ProxyHealth | null,
  wires: AgentFindings['wires'],
  io: Io,
): Promise<Finding[]> {
  const ran = new Set<Dialect['name']>();
  await findingsOfMonth(loaded.settings, io, async ({ ledger }, sinceDay) => {
    for (const { key } of await ledger.sums({ sinceDay, slice: 'wire' })) ran.add(key as Dialect['name']);
    return [];
  });
  return checkUpstreams(loaded, running, wires, ran);
}

/** Recommends a longer cache lifetime if, with the user's actual pauses, it would have saved more than it costs. */
function checkPauses(settings: Settings, io: Io): Promise<Finding[]> {
  return findingsOfMonth(settings, io, async ({ compactions }, sinceDay) => {
    const cold = await compactions.cold({ sinceMs: Date.parse(sinceDay) });
    const { cost, saved } = cold.hour_cache;
    return saved > cost ? [{ level: 'note', what: pauseWords(cold), advice: hourCacheWords(cold, money) }] : [];
  });
}

export function checkPrefixes(running: Pick<ProxyHealth, 'prefixBreaks'> | null): Finding[] {
  const requests = running?.prefixBreaks?.get('requests') ?? 0;
  if (requests === 0) return [];
  const reported = running?.prefixBreaks?.get('reported') ?? 0;
  const what = prefixBreakLine({ reported, requests });
  if (reported === 0) return [{ level: 'ok', what }];
  const advice =
    'the log names each request, `mcp-pruner report` what changed; if the session changed its proxy or its store midway, compact it or start a new one, else report it';
  return [{ level: 'note', what, advice }];
}

async function checkPrices(settings: Settings, io: Io): Promise<Finding[]> {
  const prices = pricesOf(settings);
  const { problems, warnings } = prices;
  const advice = 'correct the file, or set MCP_PRUNER_PRICES to another one; all other prices still apply';
  return [
    ...problems.map((what) => ({ level: 'failure', what, advice }) as const),
    ...warnings.map((what) => ({ level: 'note', what }) as const),
    ...(await unpriced(settings, io, prices)),
  ];
}

/** Models of the last month without a price, or without a price for some of their tokens. */
function unpriced(settings: Settings, io: Io, prices: Prices): Promise<Finding[]> {
  return findingsOfMonth(settings, io, async ({ ledger }, sinceDay) => {
    const sums = groupBy(await ledger.sums({ sinceDay, slice: 'model' }), ({ key }) => key);
    const models = Array.from(sums, ([model, figures]) => {
      const total = (name: string): number =>
        figures.reduce((sum, { field, value }) => (field === name ? sum + value : sum), 0);
      return { model, unpriced: total('unpriced'), write1h: total('write1h') };
    });
    const advice = 'MCP_PRUNER_PRICES names a file with their prices';
    return priceNotes(models, prices).map((what) => ({ level: 'note', what, advice }) as const);
  });
}

const DAYS = 30;
const DAY_MS = 86_400_000;

/** Findings from the last 30 days of the ledger; none without a store, which other checks report. */
async function findingsOfMonth(
  settings: Settings,
  io: Io,
  read: (store: StoreHandle, sinceDay: string) => Promise<Finding[]>,
): Promise<Finding[]> {
  const { openStore, storeExists } = await import('mcp-pruner/app/store.ts');
  if (!storeExists(settings, (path) => io.fileExists(path))) return [];
  const sinceDay = new Date(io.clock.nowMs() - DAYS * DAY_MS).toISOString().slice(0, 10);
  const store = await openStore(settings, { edition: io.edition, readonly: true, clock: io.clock });
  try {
    return await read(store, sinceDay);
  } catch {
    return [];
  } finally {
    await store.close();
  }
}

/** Checks for features that Claude Code omits or adds because it takes the base URL for a different provider. */
function checkFirstParty(settings: Settings, place: ClientPlace): Finding[] {
  if (claude.upstream?.(place) !== `${proxyUrl(settings)}/v1`) return [];
  const isOwn = isAnthropicsOwn(settings.anthropicUrl);
  const isSet = isAsFirstParty(place);
  if (isSet === isOwn) return [];
  if (isSet) {
    const what = `Claude Code takes the proxy for Anthropic's own API (${FIRST_PARTY}), but it forwards to another provider`;
    return [{ level: 'note', what, advice: `remove ${FIRST_PARTY}` }];
  }
  const what =
    'Claude Code sends no global cache scope, no cache diagnosis and no thinking-binding reports through a proxy';
  const advice = `mcp-pruner setup claude --first-party --write sets ${FIRST_PARTY}=1, an internal switch of Claude Code that may change`;
  return [{ level: 'note', what, advice }];
}
