import { fstatSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { absolutePath, defaultDbPath, folderOf, type Place } from 'mcp-pruner/config/paths.ts';
import { withoutRun } from 'mcp-pruner/proxy/doors/run-path.ts';
import type { LineFigures } from '../line-figures.ts';
import { ALL_PARTS, clientStatus, isPart, lineOf, PARTS, parsed } from './line.ts';
import { type Searchable, searchableLine } from './searchable.ts';

interface LineIo extends Place {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly nowMs: () => number;
}

interface LineOptions {
  readonly parts?: string | undefined;
  readonly session?: string | undefined;
  readonly latest?: boolean | undefined;
  readonly searchable?: boolean | undefined;
  readonly url?: string | undefined;
  readonly 'token-file'?: string | undefined;
}

/** Slower proxies are ignored. */
const WAIT_MS = 1_000;
const MAX_ANSWER_CHARS = 1_000_000;
const DEFAULT_PORT = '8006';
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/**
 * Prints one line about a session: from the JSON on stdin, a named one, or the latest. With `searchable`, the line is
 * for a hook after a compaction, and empty if there is nothing to search. Loads as little as possible, because agents
 * run it after each message. Never fails.
 */
export async function printLine(options: LineOptions, io: LineIo): Promise<void> {
  const asksByName = options.session !== undefined || options.latest === true;
  const client = clientStatus(asksByName ? '' : readStdin());
  const session = options.session ?? client.sessionId;
  if (options.searchable) {
    const found = session === null ? null : await ask<Searchable>('searchable', session, options, io);
    io.out(searchableLine(found));
    return;
  }
  const answer = await ask<LineFigures>('statusline', session, options, io);
  const known = Array.isArray(answer?.windows) ? (answer as LineFigures) : null;
  // a client that names no session must not get the figures of another one
  const figures = known !== null && session === null && !options.latest ? withoutSession(known) : known;
  const parts = options.parts?.split(',').map((part) => part.trim()) ?? PARTS;
  const unknown = parts.filter((part) => !isPart(part));
  if (unknown.length > 0) io.err(`--parts: left out ${unknown.join(', ')}; the parts are ${ALL_PARTS.join(', ')}\n`);
  io.out(`${lineOf(parts, { client, figures, nowMs: io.nowMs() })}\n`);
}

/** The figures that hold for every session of the account. */
function withoutSession({ windows }: LineFigures): LineFigures {
  const own = windows.map((one) => ({ ...one, session: 0 }));
  return { session: null, context: null, windows: own, finished: null, savedDollars: 0 };
}

/** Reads stdin; empty if it is a terminal or `/dev/null`. */
function readStdin(): string {
  try {
    return fstatSync(0).isCharacterDevice() ? '' : readFileSync(0, 'utf8');
  } catch {
    return '';
  }
}

/** Fetches unvalidated figures from the proxy; `null` without an answer. @param session - `null` for the latest */
function ask<T>(path: string, session: string | null, options: LineOptions, io: LineIo): Promise<Partial<T> | null> {
  const base = proxyBase(options, io);
  if (base === null) return Promise.resolve(null);
  const token = tokenFor(base, options, io);
  const query = session === null ? '' : `?session=${encodeURIComponent(session)}`;
  return new Promise((resolve) => {
    const request = get(
      `${base.replace(/\/$/, '')}/${path}${query}`,
      { timeout: WAIT_MS, agent: false, headers: token === '' ? {} : { authorization: `Bearer ${token}` } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > MAX_ANSWER_CHARS) request.destroy();
        });
        answer.on('error', () => resolve(null));
        answer.on('close', () => resolve(answer.statusCode === 200 ? fieldsIn<T>(text) : null));
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(null));
  });
}

function fieldsIn<T>(text: string): Partial<T> | null {
  const value = parsed(text);
  return typeof value === 'object' ? (value as Partial<T> | null) : null;
}

/**
 * URL of the proxy: as given, from the agent's base URL, or the default. Only http, because a proxy behind TLS is on
 * another machine.
 */
function proxyBase({ url }: LineOptions, { env }: LineIo): string | null {
  const agent = env.ANTHROPIC_BASE_URL ?? '';
  const isOurs =
    /^http:\/\/[^/]+\/k\/[^/]+\/?$/.test(withoutRun(agent).url) || (isLoopback(agent) && !env.MCP_PRUNER_PORT);
  const host = env.MCP_PRUNER_HOST?.replace(/^0\.0\.0\.0$/, '127.0.0.1') || '127.0.0.1';
  const base = url ?? (isOurs ? agent : `http://${host}:${env.MCP_PRUNER_PORT || DEFAULT_PORT}`);
  return URL.canParse(base) && base.startsWith('http://') ? base : null;
}

function isLoopback(url: string): boolean {
  return URL.canParse(url) && url.startsWith('http://') && LOOPBACK.test(new URL(url).hostname);
}

/** Token of this machine's proxy; `''` for other proxies. */
function tokenFor(base: string, options: LineOptions, io: LineIo): string {
  if (!isLoopback(base) || base.includes('/k/')) return '';
  if (io.env.MCP_PRUNER_AUTH_TOKEN) return io.env.MCP_PRUNER_AUTH_TOKEN;
  const store = io.env.MCP_PRUNER_DB_PATH;
  const folder = folderOf(io, store && store !== ':memory:' ? absolutePath(io, store) : defaultDbPath(io));
  try {
    return readFileSync(options['token-file'] ?? absolutePath(io, 'local-token', folder), 'utf8').trim();
  } catch {
    return '';
  }
}
