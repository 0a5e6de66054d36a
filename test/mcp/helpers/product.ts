import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterwards } from '../../helpers/afterwards.ts';
import { chatBody, oneResult } from '../../helpers/chat.ts';
import { startUpstream } from '../../helpers/fake-upstream.ts';
import { type RpcAnswer, startProxy, type TestProxy } from '../../helpers/proxy.ts';
import { PRUNE_OPTIONS } from '../../helpers/prune-options.ts';
import { serverLog } from '../../helpers/texts.ts';

export const ALL_ON = {
  MCP_PRUNER_ENABLE: 'resources,events-bus,idempotency,bulk',
};

/** The product with an upstream that answers; both end with the test. */
export async function startProduct(env: Record<string, string> = {}, dbPath?: string): Promise<TestProxy> {
  return startProxy(await startUpstream(), { env, ...(dbPath !== undefined && { dbPath }) });
}

/** The official client on `/rpc`. */
export async function connectTo(proxy: TestProxy): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(`${proxy.url}/rpc`));
  // its class declares `sessionId?: string | undefined`, which exactOptionalPropertyTypes tells from its own interface
  await client.connect(transport as Parameters<Client['connect']>[0]);
  afterwards(() => client.close());
  return client;
}

/** The JSON that a tool answered. */
export function jsonOf<T>({ result, error }: RpcAnswer): T {
  if (!result) throw new Error(`no result but ${JSON.stringify(error)}`);
  return JSON.parse(result.content[0]?.text ?? 'null') as T;
}

/** Calls a tool and gives back the JSON that it answered. */
export async function ask<T = Record<string, unknown>>(proxy: TestProxy, tool: string, args: object = {}): Promise<T> {
  return jsonOf<T>(await proxy.call(tool, args));
}

/** One request of an agent with a large log in it. */
export async function converse(proxy: TestProxy, seed = 0): Promise<void> {
  const answer = await proxy.chat(chatBody(oneResult(serverLog(400, seed))));
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  await answer.text();
}

export interface PruneArgs {
  readonly text: string;
  readonly goal_hint: string;
  readonly source_type: string;
  readonly options: object;
}

/** Valid arguments for `prune_text` on a log. */
export function logArgs(seed = 0): PruneArgs {
  const text = serverLog(300, seed);
  return { text, goal_hint: 'which payment failed', source_type: 'logs', options: PRUNE_OPTIONS };
}
