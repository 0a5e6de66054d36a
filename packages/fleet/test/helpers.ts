import { fileURLToPath } from 'node:url';
import { type FakeUpstream, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';

export const AGENT = fileURLToPath(new URL('scripted-agent.mjs', import.meta.url));
export const TOKEN = 'a-token-of-sixteen-characters';

/** Children of this program that are ended after `graceMs`, with further entries. */
export function children(graceMs = 300, more: Readonly<Record<string, unknown>> = {}): string {
  const entries = { commands: [process.execPath], grace: graceMs, ...more };
  return Object.entries(entries)
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    .join(', ');
}

export const FLEET_ENV = {
  MCP_PRUNER_ENABLE: 'fleet',
  MCP_PRUNER_AUTH_TOKEN: TOKEN,
  MCP_PRUNER_CHILDREN: children(),
};

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: Record<string, unknown>;
}

/** Answers of tools are read field by field. */
type Answer = ReturnType<typeof JSON.parse>;

/** Calls tools of a server. */
export class Client {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async rpc(method: string, params: object = {}): Promise<{ result?: Answer; error?: RpcError }> {
    const response = await fetch(`${this.#url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    return (await response.json()) as { result?: Answer; error?: RpcError };
  }

  async call(name: string, args: object = {}): Promise<Answer> {
    const { result, error } = await this.rpc('tools/call', { name, arguments: args });
    if (error) throw new Error(`${name}: ${error.message} ${JSON.stringify(error.data)}`);
    return JSON.parse(result.content[0].text);
  }

  async fails(name: string, args: object = {}): Promise<RpcError> {
    const { result, error } = await this.rpc('tools/call', { name, arguments: args });
    if (!error) throw new Error(`${name} did not fail: ${result.content[0].text}`);
    return error;
  }

  /** Starts a scripted agent. */
  agent(orders: readonly unknown[], more: object = {}): Promise<Answer> {
    return this.call('child_create', {
      command: process.execPath,
      args: [AGENT],
      prompt: JSON.stringify(orders),
      ...more,
    });
  }
}

export interface Bench {
  readonly proxy: TestProxy;
  readonly upstream: FakeUpstream;
  readonly client: Client;
}

/** A server with all of the fleet on, before a provider that answers and says what it cost. */
export async function startFleet(env: Readonly<Record<string, string>> = {}): Promise<Bench> {
  const upstream = await startUpstream((_request, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(
      JSON.stringify({
        choices: [{ message: { role: 'assistant', content: 'fine' } }],
        usage: { prompt_tokens: 30, completion_tokens: 10 },
      }),
    );
  });
  const proxy = await startProxy(upstream, { env: { ...FLEET_ENV, ...env } });
  return { proxy, upstream, client: new Client(proxy.url) };
}
