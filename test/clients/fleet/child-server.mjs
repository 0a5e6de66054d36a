import { join } from 'node:path';
import { startProxy } from '../lib/proxy.mjs';

const TOKEN = 'the-token-of-the-server-0000';
const KEY = 'sk-scripted-0000-fleet';

/** A proxy with the fleet on, and calls of its tools. */
export class ChildServer {
  #proxy;

  constructor(proxy) {
    this.#proxy = proxy;
  }

  /** What must stand in no log, event or manifest. */
  secrets = [TOKEN, KEY];

  token = TOKEN;

  get rpcUrl() {
    return `${this.#proxy.origin}/rpc`;
  }

  /**
   * @param {{ upstream: string, state: string, home: string, bin: string, work: string }} places - `bin` holds the agent
   * @param {readonly string[]} variables - names that calls may set for their children
   */
  static async start({ upstream, state, home, bin, work }, variables) {
    const settings = {
      PATH: `${bin}:${process.env.PATH ?? ''}`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, '.config'),
      XDG_DATA_HOME: join(home, '.local/share'),
      XDG_STATE_HOME: join(home, '.local/state'),
      XDG_CACHE_HOME: join(home, '.cache'),
      TMPDIR: join(home, 'tmp'),
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      OPENAI_API_KEY: KEY,
      ANTHROPIC_API_KEY: KEY,
      MCP_PRUNER_ENABLE: 'fleet',
      MCP_PRUNER_AUTH_TOKEN: TOKEN,
      MCP_PRUNER_CHILDREN: `roots = ${JSON.stringify([work])}, settable = ${JSON.stringify(variables)}`,
    };
    return new ChildServer(await startProxy({ upstream, folder: state, settings }));
  }

  log() {
    return this.#proxy.log();
  }

  close() {
    return this.#proxy.close();
  }

  /** Calls a tool; a refusal is an error with its code and data. */
  async call(name, args) {
    const response = await fetch(`${this.#proxy.origin}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    const { result, error } = await response.json();
    if (error) throw new Error(`${name}: ${error.message} ${JSON.stringify(error.data)}`);
    return JSON.parse(result.content[0].text);
  }

  /** Starts a child and waits for its end; one that does not end in time is cancelled. */
  async runChild(input, timeoutMs) {
    const endMs = performance.now() + timeoutMs;
    let manifest = await this.call('child_create', input);
    while (manifest.ended_at === null) {
      if (performance.now() > endMs) {
        manifest = await this.call('child_cancel', { child_id: input.child_id, reason: 'timeout' });
      } else manifest = await this.call('child_status', { child_id: input.child_id, wait_ms: 5000 });
    }
    const { payload } = await this.call('resources_read', { uri: manifest.logs_uri });
    const { events } = await this.call('events_watch', { from_seq: 0, limit: 200 });
    return { manifest, logs: payload.logs, events: events.filter(({ childId }) => childId === input.child_id) };
  }
}
