import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Call, type Command, configOption, type Io, UsageError } from 'mcp-pruner/cli/command.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { isProxy, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import type { Loaded } from 'mcp-pruner/config/load.ts';
import { defaultConfigFile, defaultDbPath, folderOf } from 'mcp-pruner/config/paths.ts';
import { SettingsError } from 'mcp-pruner/config/settings-error.ts';
import { servingProblem } from 'mcp-pruner/config/warnings.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { findEntry } from '../mcp-servers.ts';
import { envFileText, type ServiceProgram } from './files.ts';
import { type ManagerCommand, type RunTool, type ServiceManager, serviceManager } from './managers.ts';

const actions = ['install', 'status', 'logs', 'remove'] as const;
type Action = (typeof actions)[number];

const LOG_LINES = 200;
/** Added to the time that the proxy gives in-flight requests. */
const STOP_SLACK_S = 10;
/** Variables other than settings that programs need. */
const OTHER_VARIABLES = [
  'PATH',
  'HOME',
  'XDG_DATA_HOME',
  'XDG_CONFIG_HOME',
  'LOCALAPPDATA',
  'APPDATA',
  'NODE_EXTRA_CA_CERTS',
];
const STARTED_TRIES = 50;
const STARTED_WAIT_MS = 200;

/** The command `service`; tests replace the function that runs programs. */
export function serviceCommand(run: RunTool): Command {
  return {
    usage: `service <${actions.join('|')}>`,
    about: [
      'Runs the proxy in the background from login on, and restarts it after a failure, by systemd, launchd or the task',
      'scheduler of this user. install copies the current settings into a file that nobody else can read; run',
      'it again after a change. status shows whether the service runs, logs shows its log, remove stops and removes it.',
    ].join('\n'),
    options: configOption,
    arguments: { min: 1, max: 1 },

    async run(call, io) {
      const [name = ''] = call.positionals;
      const action = actions.find((one) => one === name);
      if (action === undefined) throw new UsageError(`${JSON.stringify(name)} is not one of ${actions.join(', ')}`);
      const loaded = readSettings(call, io);
      return await work[action]({ call, io, loaded, run, manager: serviceManager(io) });
    },
  };
}

interface Job {
  readonly call: Call;
  readonly io: Io;
  readonly loaded: Loaded;
  readonly run: RunTool;
  readonly manager: ServiceManager;
}

const work: Readonly<Record<Action, (job: Job) => Promise<number> | number>> = { install, status, logs, remove };

async function install(job: Job): Promise<number> {
  const { io, loaded, run, manager } = job;
  const { settings } = loaded;
  const problem = servingProblem(settings, loaded.table);
  if (problem !== null) throw new SettingsError([problem]);
  if (settings.port === 0) throw new UserError('a service needs a fixed port for its agents: set MCP_PRUNER_PORT');
  manager.check(run);
  const program = programOf(job);
  writePrivate(program.envFile, envFileText(environmentOf(job)));
  mkdirSync(dirname(program.logFile), { recursive: true });
  writePrivate(manager.file, manager.text(program));
  for (const step of manager.start) perform(step, run);
  io.out(`written: ${manager.file}\nwritten: ${program.envFile} (only you can read it)\n`);
  const url = proxyUrl(settings);
  if (!(await answersSoon(url))) {
    throw new UserError(
      `${manager.title} started the service, but nothing answers at ${url}: see mcp-pruner service logs`,
    );
  }
  io.out(`the proxy answers at ${url}\n`);
  if (manager.hint !== null) io.out(`${manager.hint}\n`);
  return 0;
}

async function status({ io, loaded, run, manager }: Job): Promise<number> {
  const { command, args } = manager.isRunning;
  const known = run(command, args).code === 0;
  const url = proxyUrl(loaded.settings);
  const answers = await isProxy(url);
  const installed = io.fileExists(manager.file);
  io.out(`${manager.title}: ${known ? 'runs' : installed ? 'installed, does not run' : 'not installed'}\n`);
  io.out(`${url}: ${answers ? 'the proxy answers' : 'no proxy answers'}\n`);
  return known && answers ? 0 : 1;
}

function logs(job: Job): number {
  const { io, run, manager } = job;
  if (manager.logs !== null) {
    const { code, output } = run(manager.logs.command, manager.logs.args);
    io.out(output);
    return code === 0 ? 0 : 1;
  }
  const { logFile } = programOf(job);
  if (!io.fileExists(logFile)) throw new UserError(`there is no log at ${logFile}: mcp-pruner service install first`);
  const lines = readFileSync(logFile, 'utf8').split('\n');
  io.out(lines.slice(-LOG_LINES - 1).join('\n'));
  return 0;
}

function remove(job: Job): number {
  const { io, run, manager } = job;
  const { envFile } = programOf(job);
  const files = [manager.file, envFile].filter((file) => io.fileExists(file));
  if (files.length === 0) {
    io.out('no service is installed\n');
    return 0;
  }
  for (const step of manager.stop) perform(step, run);
  for (const file of files) {
    rmSync(file);
    io.out(`removed: ${file}\n`);
  }
  for (const step of manager.forget) perform({ ...step, mayFail: true }, run);
  return 0;
}

function programOf({ io, loaded }: Job): ServiceProgram {
  const entry = findEntry({}, io.cwd)?.replace(/index\.js$/, 'cli.js');
  if (entry === undefined) throw new UserError('the program itself was not found: install the package anew');
  return {
    node: process.execPath,
    entry,
    envFile: join(folderOf(io, defaultConfigFile(io)), 'service.env'),
    logFile: join(folderOf(io, defaultDbPath(io)), 'service.log'),
    homeDir: io.homeDir,
    stopS: Math.ceil(loaded.settings.drainTimeoutMs / 1000) + STOP_SLACK_S,
  };
}

/** The current environment: settings, and other variables that programs need. */
function environmentOf({ io, loaded }: Job): Record<string, string> {
  const { env } = io;
  const names = [
    ...loaded.table.rows.flatMap(({ key }) => (loaded.origins[key].from === 'env' ? [loaded.origins[key].name] : [])),
    ...OTHER_VARIABLES,
  ];
  const given = names.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  const file: Record<string, string> = loaded.configFile === null ? {} : { MCP_PRUNER_CONFIG: loaded.configFile };
  return { ...Object.fromEntries(given), ...file };
}

function perform({ command, args, mayFail = undefined }: ManagerCommand, run: RunTool): void {
  const { code, output } = run(command, args);
  if (code === 0 || mayFail) return;
  const why = code === null ? 'it is not there' : output.trim() || `it ended with code ${code}`;
  throw new UserError(`${[command, ...args].join(' ')}: ${why}`);
}

function writePrivate(file: string, content: string | Buffer): void {
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true }); // rewriting a file keeps its permissions, which may be too broad
  writeFileSync(file, content, { mode: 0o600, flag: 'wx' });
  chmodSync(file, 0o600);
}

async function answersSoon(url: string): Promise<boolean> {
  for (let tries = 0; tries < STARTED_TRIES; tries++) {
    if (await isProxy(url)) return true;
    await new Promise((resolve) => setTimeout(resolve, STARTED_WAIT_MS));
  }
  return false;
}

export const service = serviceCommand((command, args) => {
  const { status: code, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  return { code: error === undefined ? code : null, output: `${stdout ?? ''}${stderr ?? ''}` };
});
