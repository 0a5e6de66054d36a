import type { Finding } from '../app/finding.ts';
import type { Edition } from '../app/guest.ts';
import { errorCode, messageOf } from '../base/causes.ts';
import type { Loaded } from '../config/load.ts';
import { serverToken } from '../config/local-token.ts';
import type { Settings } from '../config/settings.ts';
import { SettingsError } from '../config/settings-error.ts';
import { isLoopbackHost, servingProblem } from '../config/warnings.ts';
import { UserError } from '../errors/errors.ts';
import { createLog, type Log } from '../observe/log.ts';
import { type Command, configOption, type Io, painter } from './command.ts';
import { LISTENING, logLinePrinter } from './log-line.ts';
import { readSettings } from './read-settings.ts';
import { commonOptions, flagOptions, flagsOf, toggleOptions } from './setting-options.ts';

export interface Running {
  /** Listening URL without a path. */
  readonly url: string;
  /** Refuses new requests, lets running ones finish within the drain limit, and releases all resources. */
  close(): Promise<void>;
}

export type Start = (
  settings: Settings,
  parts: {
    readonly edition: Edition;
    readonly log: Log;
    readonly version: string;
    readonly env: Io['env'];
    readonly cwd: string;
    readonly loaded: Pick<Loaded, 'origins' | 'warnings'>;
    readonly examine: () => Promise<readonly Finding[]>;
  },
) => Promise<Running>;

/** Additional wait for the server to close after the drain limit. */
const GRACE_MS = 5_000;

/** The command `serve`. `loadStart` loads the server lazily, and is replaced in tests. */
export function serveCommand(edition: Edition, loadStart: () => Promise<Start>): Command {
  const { settings: table } = edition;
  return {
    usage: 'serve [options]',
    about:
      'Runs the proxy, /rpc, /health and /metrics on one port until SIGTERM or Ctrl-C.\nEvery setting can be given by environment or file too: docs/configuration.md.',
    options: { ...configOption, ...flagOptions(table), ...toggleOptions(table) },
    commonOptions: commonOptions(edition),
    arguments: { min: 0, max: 0 },

    async run(call, io) {
      const loaded = readSettings(call, io, flagsOf(call, table));
      const { settings: read, warnings, configFile } = loaded;
      const problem = servingProblem(read, table);
      if (problem !== null) throw new SettingsError([problem]);
      const settings: Settings = { ...read, authToken: serverToken(io, read) };

      const forPeople = io.outIsTerminal;
      const render = forPeople ? { render: logLinePrinter(painter(io)) } : {};
      const log = createLog({ level: settings.logLevel, fd: 1, ...render });
      const start = await loadStart();
      const running = await start(settings, {
        ...{ edition: io.edition, log, version: io.version, env: io.env, cwd: io.cwd, loaded },
        examine: () => io.edition.examine(() => loaded, io),
      }).catch((cause: unknown) => {
        throw new UserError(startFailure(cause, settings), { cause });
      });
      log.info(
        {
          url: running.url,
          upstreamUrl: settings.upstreamUrl,
          anthropicUrl: settings.anthropicUrl,
          geminiUrl: settings.geminiUrl,
          dbPath: settings.dbPath,
          mode: settings.enabled ? settings.mode : 'off',
          backend: settings.backend,
          configFile,
          version: io.version,
          OPENAI_BASE_URL: `${reachable(running.url)}/v1`,
          ANTHROPIC_BASE_URL: reachable(running.url),
          page: settings.page ? `${reachable(running.url)}/` : undefined,
        },
        LISTENING,
      );
      for (const warning of warnings) log.warn({ warning }, 'configuration');
      return await untilStopped(running, settings, log, io);
    },
  };
}

export const serve = (edition: Edition): Command =>
  serveCommand(edition, async () => (await import('../app/serve.ts')).startHttp);

/** A URL that local agents can use, since "every interface" is not a destination. */
function reachable(url: string): string {
  return url.replace('://0.0.0.0', '://127.0.0.1').replace('://[::]', '://[::1]');
}

/** Two interrupts within this time are one Ctrl-C, because npm forwards the signal that the terminal also sends. */
const ECHO_MS = 50;

/** Runs until a signal: the first one drains, a second Ctrl-C exits at once. */
async function untilStopped(running: Running, settings: Settings, log: Log, io: Io): Promise<number> {
  const logAndContinue = (err: unknown): void => log.error({ err }, 'unexpected error; the server goes on');
  io.events.on('uncaughtException', logAndContinue);
  io.events.on('unhandledRejection', logAndContinue);

  const signal = await new Promise<string>((resolve) => {
    io.events.on('SIGTERM', () => resolve('SIGTERM'));
    io.events.on('SIGHUP', () => resolve('SIGHUP')); // the terminal was closed
    let interruptedAt = Number.NaN;
    io.events.on('SIGINT', () => {
      if (performance.now() - interruptedAt > ECHO_MS) io.exit(130);
      interruptedAt = performance.now();
      resolve('SIGINT');
    });
  });
  log.info({ signal, drainTimeoutMs: settings.drainTimeoutMs }, 'stopping: requests under way may finish');
  const ended = await endsWithin(running.close(), settings.drainTimeoutMs + GRACE_MS, logAndContinue);
  if (!ended) log.error('the server did not stop in time');
  log.info('stopped');
  // open handles must not keep the process alive for long
  setTimeout(() => io.exit(ended ? 0 : 1), 1_000).unref();
  return ended ? 0 : 1;
}

async function endsWithin(work: Promise<void>, limitMs: number, onError: (cause: unknown) => void): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  const done = work.then(
    () => true,
    (cause: unknown) => {
      onError(cause);
      return true;
    },
  );
  const ended = await Promise.race([done, late]);
  clearTimeout(timer);
  return ended;
}

/** Explains in one line why the server could not start, and what to do. */
function startFailure(cause: unknown, { host, port }: Settings): string {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const code = errorCode(cause);
  if (code === 'EADDRINUSE') {
    const health = isLoopbackHost(host) ? `http://${where}/health` : `http://127.0.0.1:${port}/health`;
    return (
      `${where} is already in use, perhaps by another mcp-pruner (curl ${health}; lsof -i :${port} shows who): ` +
      `stop that one, or choose another port with MCP_PRUNER_PORT=${port + 1} or --port ${port + 1}`
    );
  }
  if (code === 'EACCES') return `${where} may not be used by this user: choose a port above 1023 with --port`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `${where}: this machine has no such address: set MCP_PRUNER_HOST`;
  return `cannot start: ${messageOf(cause)}`;
}
