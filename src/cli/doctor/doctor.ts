import type { Finding } from '../../app/finding.ts';
import { precedes } from '../../base/versions.ts';
import type { Loaded } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import { SettingsError } from '../../config/settings-error.ts';
import { isGuarded, servingProblem } from '../../config/warnings.ts';
import { type Command, configOption, type Io } from '../command.ts';
import { fileReader } from '../file-reader.ts';
import { readSettings } from '../read-settings.ts';
import { painter, printableLine } from '../terminal.ts';
import { wrapped } from '../wrap.ts';
import { checkAddresses } from './addresses.ts';
import { checkAgents } from './agents.ts';
import { checkFirstParty } from './first-party.ts';
import { checkPauses } from './pauses.ts';
import { checkPrefixes } from './prefixes.ts';
import { checkPrices } from './prices.ts';
import { checkPort, checkUpstreams } from './proxy.ts';
import { checkSaving } from './saving.ts';
import { checkStore } from './store.ts';
import { checkTeamKeys } from './team.ts';
import { checkUnread } from './unread.ts';

/** The oldest Node that this program runs on. */
const NODE = '20.18.1';

export const doctor: Command = {
  usage: 'doctor [--json]',
  about: [
    'Checks Node, configuration, port, upstream, store, token, agents that are set up and addresses on which nothing listens,',
    'and suggests fixes. Exits with 1 if something is broken. Sends keys and tokens only to their own proxy, and no text of yours.',
  ].join('\n'),
  options: { ...configOption, json: { type: 'boolean', doc: 'print JSON' } },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    const findings = await examine(() => readSettings(call, io), io);
    if (call.values.json === true) io.out(`${JSON.stringify(findings, null, 2)}\n`);
    else for (const finding of findings) io.out(linesOf(finding, io));
    return findings.some(({ level }) => level === 'failure') ? 1 : 0;
  },
};

/** A finding as it is printed. */
export function linesOf({ level, what, advice }: Finding, io: Pick<Io, 'env' | 'outIsTerminal' | 'columns'>): string {
  const paint = painter(io);
  const label = { ok: 'ok  ', note: 'note', failure: 'FAIL' }[level];
  const colour = ({ ok: 'green', note: 'yellow', failure: 'red' } as const)[level];
  const indent = ' '.repeat(label.length + 2);
  // names in findings come from callers: models, paths, clients
  const text = wrapped(printableLine(what), indent, io).replace(indent, () => `${paint(colour, label)}  `);
  return advice === undefined ? text : text + wrapped(printableLine(advice), indent, io);
}

/** The facts about this installation that the checks use. */
interface Examined {
  readonly loaded: Loaded;
  readonly settings: Settings;
  readonly io: Io;
  readonly port: Awaited<ReturnType<typeof checkPort>>;
  readonly running: Awaited<ReturnType<typeof checkPort>>['health'];
  readonly agents: Awaited<ReturnType<typeof checkAgents>>;
}

/** The checks, in the order in which their findings are printed. They run at the same time. */
const checks: readonly ((examined: Examined) => Promise<readonly Finding[]> | readonly Finding[])[] = [
  () => [checkNode(process.versions.node)],
  ({ loaded }) => checkConfiguration(loaded),
  ({ loaded }) => [checkToken(loaded)],
  async ({ settings, io }) => (await Promise.all(io.edition.checks.map((check) => check(settings, io)))).flat(),
  ({ port }) => [port.finding],
  ({ running }) => checkUnread(running),
  ({ running }) => checkPrefixes(running),
  ({ running }) => checkSaving(running),
  ({ loaded, running, agents }) => checkUpstreams(loaded, running, agents.wires),
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
