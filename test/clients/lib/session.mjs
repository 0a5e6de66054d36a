import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from '../../../bench/load.mjs';
import { PROXY_STEPS, recoverCall } from './calls.mjs';
import { startHop } from './hop.mjs';
import { runProcess } from './process.mjs';
import { TASK, writeProject } from './project.mjs';
import { startProxy } from './proxy.mjs';
import { startUpstream } from './upstream.mjs';

/** The key that the clients are given. */
export const API_KEY = 'sk-scripted-0000';

/** The log is read first, so that something is still to come when it has been cut. */
function logFirst(steps) {
  return steps.includes('log') ? ['log', ...steps.filter((step) => step !== 'log')] : steps;
}

/** What the proxy answers itself; an agent that it starts is given one address for everything. */
const OWN = /^\/(?:(?:health|rpc)\b|run\/[0-9a-f]+(?:\?|$))/;
/** By which the requests of a run of `mcp-pruner run` are known; the proxy takes it off. */
const RUN = /^\/run\/[0-9a-f]+(?=\/)/;

/**
 * What is done in mid-session, once the log has gone upstream cut: the proxy is killed, and goes on with other settings; the client
 * sends a header of its own; or there is no proxy any more, which breaks a history that is bound. `locked`: after the start,
 * another process keeps the store until the client was asked twice to retry.
 *
 * @type {Record<string, { settings?: Record<string, string>, headers?: Record<string, string>, isGone?: boolean, isLocked?: boolean }>}
 */
export const SWITCHES = {
  off: { settings: { MCP_PRUNER_ENABLED: 'false' } },
  shadow: { settings: { MCP_PRUNER_MODE: 'shadow' } },
  header: { settings: {}, headers: { 'x-mcp-pruner': 'off' } },
  gone: { isGone: true },
  locked: { settings: {}, isLocked: true },
};

/** Answers by which the client of a locked store was asked to retry. */
const RETRIES = 2;

const DRIVER = fileURLToPath(new URL('../../../src/store/sqlite/driver.ts', import.meta.url));

/** Also counts answers in frames, which the hop does not read. */
const retriesIn = (proxyLog) => proxyLog.split('"asked_to_retry"').length - 1;

/** Locks a store's file for all other processes. Resolves once it is locked. */
async function lockedUntil(path, isOver) {
  const { sqliteDriver } = await load(DRIVER);
  const db = new (sqliteDriver())(path);
  db.pragma('locking_mode = EXCLUSIVE');
  db.exec("BEGIN IMMEDIATE; UPDATE meter SET value = value + 1 WHERE name = 'deleted_generation'; COMMIT");
  const timer = setInterval(() => {
    if (!isOver()) return;
    clearInterval(timer);
    db.close();
  }, 100).unref();
}

/** A question on which the answer of the first turn must not depend. */
const FOLLOW_UP = 'Now the log of the nightly run, please: which error code, which release?';

/**
 * The environment of a client: a home of its own, no way out of the machine but loopback.
 *
 * @param {string} home
 */
export function environment(home) {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    TMPDIR: join(home, 'tmp'),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NO_COLOR: '1',
    CI: '1',
    DO_NOT_TRACK: '1',
    // Nothing listens there: a call to the outside fails at once instead of hanging.
    HTTPS_PROXY: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  };
}

/**
 * One client does the task once.
 *
 * @param {object} driver
 * @param {{ folder: string, node: string }} installed
 * @param {{ through: 'direct' | 'start' | string, upstreamPort?: number, timeoutMs: number, keep: boolean, nonce: string,
 *   settings?: Record<string, string>, switched?: keyof typeof SWITCHES, model?: typeof startUpstream, root?: string, task?: string }} options - `through` is the origin of a running proxy,
 *   or one of the two words; `root` a folder that outlives the session, with the client's home and the proxy's store
 */
export async function runSession(driver, installed, options) {
  const { through, upstreamPort = 0, timeoutMs, keep, nonce, settings, task = TASK, model = startUpstream } = options;
  const switched = SWITCHES[options.switched];
  const root = options.root ?? mkdtempSync(join(tmpdir(), `client-${driver.name}-`));
  const [home, work, state] = ['home', 'work', 'proxy'].map((name) => join(root, name));
  for (const folder of [join(home, 'tmp'), work, state]) mkdirSync(folder, { recursive: true });
  writeProject(work, driver.place ?? 'inside');

  const closers = [];
  try {
    const port = through === 'start' || through === 'direct' ? 0 : upstreamPort;
    const inOrder = switched === undefined ? driver.steps : logFirst(driver.steps);
    const steps = inOrder.filter((step) => through !== 'direct' || !PROXY_STEPS.includes(step));
    const upstream = await model({
      nonce,
      steps,
      calls: { ...driver.calls, recover: recoverCall },
      work,
      port,
    });
    closers.push(upstream.close);
    let origin = through;
    let proxyLog = () => '';
    let restart = async () => {};
    if (through === 'start') {
      const proxy = await startProxy({
        upstream: upstream.url,
        folder: state,
        settings: { ...driver.settings, ...settings },
      });
      closers.push(proxy.close);
      origin = proxy.origin;
      proxyLog = proxy.log;
      const lock = () => lockedUntil(join(state, 'pruner.db'), () => retriesIn(proxy.log()) >= RETRIES);
      if (switched?.settings) restart = () => proxy.restart(switched.settings, switched.isLocked ? lock : undefined);
    }
    const before = { origin: through === 'direct' ? upstream.url : origin };
    const after = { origin: switched?.isGone ? upstream.url : before.origin, headers: switched?.headers };
    let route = null;
    const hop = await startHop(async () => {
      if (switched === undefined || through === 'direct') return before;
      if (upstream.seen.some(({ step }) => steps.indexOf(step) > 0)) route ??= restart().then(() => after);
      return route ?? before; // also for requests that come meanwhile
    });
    closers.push(hop.close);

    const { result, answer } = await driver.run({
      folder: installed.folder,
      node: installed.node,
      home,
      work,
      baseUrl: `${hop.url}/v1`,
      // clients of the messages wire append /v1 themselves
      bareUrl: hop.url,
      rpcUrl: through === 'direct' ? null : `${origin}/rpc?tools=recover_text`,
      apiKey: API_KEY,
      task,
      followUp: FOLLOW_UP,
      env: environment(home),
      start: (command, args, options) => runProcess(command, args, { timeoutMs, ...options }),
    });
    return {
      root,
      origin,
      result,
      answer,
      exchanges: hop.seen
        .filter(({ path }) => !OWN.test(path))
        .map((exchange) => ({ ...exchange, path: exchange.path.replace(RUN, '') })),
      received: upstream.seen,
      strangers: upstream.strangers,
      wasSwitched: route !== null && (!switched?.isLocked || retriesIn(proxyLog()) >= RETRIES),
      proxyLog,
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }

  /** Ends the servers; recovery needs the proxy until then. */
  async function close() {
    for (const end of closers.reverse()) await end();
    if (!keep && options.root === undefined) rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}
