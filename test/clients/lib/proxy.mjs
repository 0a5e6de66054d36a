import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** `MCP_PRUNER_TEST_BUILD` names another build than the one in `dist`. */
const CLI = join(
  process.env.MCP_PRUNER_TEST_BUILD ?? fileURLToPath(new URL('../../../dist', import.meta.url)),
  'cli.js',
);

/** A port that was free a moment ago. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(address !== null && typeof address !== 'string' ? address.port : 0));
    });
  });
}

async function answersHealth(origin) {
  try {
    return (await fetch(`${origin}/health`, { signal: AbortSignal.timeout(1000) })).ok;
  } catch {
    return false; // not listening yet
  }
}

/**
 * Starts the built proxy on a free port, with a store of its own.
 *
 * @param {{ upstream: string, folder: string, settings?: Record<string, string> }} options - `upstream` without `/v1`;
 *   `folder` takes the store
 * @returns {Promise<{ origin: string, log: () => string, close: () => Promise<void>, restart: (settings: Record<string,
 *   string>, between?: () => Promise<void>) => Promise<void> }>} `restart` kills it, and starts it again with other settings besides
 */
export async function startProxy({ upstream, folder, settings = {} }) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let log = '';
  const launch = async (more) => {
    const child = spawn(process.execPath, [CLI, 'serve'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...environmentOf(upstream, folder, port), ...settings, ...more },
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        log += text;
      });
    }
    const ended = new Promise((resolve) => {
      child.once('error', resolve);
      child.once('exit', resolve);
    });
    const end = async (signal) => {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await ended;
      clearTimeout(timer);
    };
    for (let tries = 0; tries < 600; tries++) {
      if (child.exitCode !== null) break;
      if (await answersHealth(origin)) return end;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await end('SIGKILL');
    throw new Error(`the proxy did not start: ${log.slice(-1000)}`);
  };
  let end = await launch({});
  const restart = async (more, between = async () => {}) => {
    await end('SIGKILL');
    await between();
    end = await launch(more);
  };
  return { origin, log: () => log, close: () => end('SIGTERM'), restart };
}

function environmentOf(upstream, folder, port) {
  return {
    PATH: process.env.PATH ?? '',
    HOME: folder,
    MCP_PRUNER_PORT: String(port),
    MCP_PRUNER_UPSTREAM_URL: `${upstream}/v1`,
    MCP_PRUNER_ANTHROPIC_URL: `${upstream}/v1`,
    MCP_PRUNER_GEMINI_URL: `${upstream}/v1beta`,
    MCP_PRUNER_VERTEX_URL: upstream,
    MCP_PRUNER_BEDROCK_URL: upstream,
    MCP_PRUNER_AZURE_URL: upstream,
    MCP_PRUNER_DB_PATH: `${folder}/pruner.db`,
    // what a run shows must not depend on how busy the machine is
    MCP_PRUNER_TIMEOUT_MS: '30000',
  };
}
