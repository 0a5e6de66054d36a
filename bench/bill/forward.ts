import { readFileSync } from 'node:fs';
import { decisionCacheOf, rewriterOf } from '../../src/app/pipeline.ts';
import { openStore } from '../../src/app/store.ts';
import { loadSettings } from '../../src/config/load.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { edition } from '../../src/edition.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import type { Message, Recording } from '../recordings/conversation.ts';

/** Texts below this are never cut, so a request that brings only such ones changes nothing. */
const LEAST_CHARS = 600;

/** Sends recordings through the proxy's own code. */
export interface Forwarder {
  /** The messages of a recording as the proxy sent them in its last request. */
  readonly forward: (recording: Recording) => Promise<readonly Message[]>;
  readonly close: () => void;
}

/**
 * Opens a proxy without a network, on a store in memory.
 *
 * @param env - settings as in the environment
 */
export async function forwarderOf(env: Readonly<Record<string, string>>): Promise<Forwarder> {
  const { settings } = loadSettings({
    table: edition.settings,
    env,
    platform: process.platform,
    homeDir: '/nowhere',
    cwd: '/nowhere',
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  const offline = { ...settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: 600_000 };
  const clock = { nowMs: () => Date.now() };
  const store = await openStore(offline, { edition, clock });
  const rewriter = rewriterOf(offline, {
    store,
    clock,
    decisionCache: decisionCacheOf(offline, store, clock),
    refused: new RefusedConversations(store),
    onFailure: (reason: string, cause: unknown): never => {
      throw new Error(reason, { cause });
    },
  });
  const rewrite = async (messages: readonly Message[]): Promise<readonly Message[]> => {
    const body = Buffer.from(JSON.stringify({ model: 'm', messages }));
    const sent = (await rewriter.rewrite({ body, dialect: openaiChat })).body;
    return (JSON.parse(sent.toString('utf8')) as { messages: readonly Message[] }).messages;
  };
  const forward = async ({ messages }: Recording): Promise<readonly Message[]> => {
    let forwarded: readonly Message[] = [];
    for (const at of requestsThatMatter(messages)) forwarded = await rewrite(messages.slice(0, at));
    return [...forwarded, ...messages.slice(forwarded.length)];
  };
  return { forward, close: () => void store.close() };
}

/** Indices of the answers whose requests bring a text that may be cut: the others repeat what was sent. */
function requestsThatMatter(messages: readonly Message[]): number[] {
  const out: number[] = [];
  let brings = false;
  for (const [i, { role, content }] of messages.entries()) {
    if (role !== 'assistant') brings ||= typeof content === 'string' && content.length >= LEAST_CHARS;
    else if (brings) {
      out.push(i);
      brings = false;
    }
  }
  return out;
}
