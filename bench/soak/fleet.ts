import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chance, pause } from './chance.ts';
import { Lives } from './fleet-lives.ts';
import { end, type Finding, type Server, startServer } from './stage.ts';

const TOKEN = 'a-token-of-the-soak';
const ENTRIES = 20;
/** How long a server is left alone at most before it is killed. */
const LONGEST_MS = 1_000;

/** Answers of tools are read field by field. */
type Answer = ReturnType<typeof JSON.parse>;

/** A refusal: the server is there and says no. */
class Refused extends Error {}

async function call(server: Server, name: string, args: object): Promise<Answer> {
  const response = await fetch(`${server.url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  const { result, error } = (await response.json()) as { result?: Answer; error?: { message: string } };
  if (error) throw new Refused(`${name}: ${error.message}`);
  return JSON.parse(result.content[0].text);
}

/** Two servers on one store: one is killed again and again, the other one stays. */
class Pair {
  readonly #env: Readonly<Record<string, string>>;
  #mortal: Server | null = null;
  #stays: Server | null = null;

  /** @param database - of the store of both; `null`: a file in the folder */
  constructor(folder: string, database: string | null) {
    this.#env = {
      ...(database !== null && { MCP_PRUNER_DATABASE_URL: database }),
      MCP_PRUNER_CHILDREN: `commands = ${JSON.stringify([process.execPath])}, roots = ${JSON.stringify([folder])}, max = 100`,
      MCP_PRUNER_ENABLE: 'fleet',
      MCP_PRUNER_AUTH_TOKEN: TOKEN,
      MCP_PRUNER_DB_PATH: join(folder, 'store.db'),
      MCP_PRUNER_UPSTREAM_URL: 'http://127.0.0.1:9/v1',
    };
  }

  async open(): Promise<void> {
    this.#stays = await startServer(this.#env);
    await this.restart();
  }

  async restart(): Promise<void> {
    this.#mortal = await startServer(this.#env);
  }

  async kill(): Promise<void> {
    if (this.#mortal) await end(this.#mortal, 'SIGKILL');
  }

  async close(): Promise<void> {
    for (const server of [this.#mortal, this.#stays]) if (server) await end(server, 'SIGKILL');
  }

  mortal(name: string, args: object): Promise<Answer> {
    return this.#ask(this.#mortal, name, args);
  }

  stays(name: string, args: object): Promise<Answer> {
    return this.#ask(this.#stays, name, args);
  }

  async #ask(server: Server | null, name: string, args: object): Promise<Answer> {
    if (server === null) throw new Error('not started');
    return call(server, name, args);
  }
}

/** What goes on while one server is killed. Each writes until it is told to stop; `wrong` takes what must never be. */
class Work {
  readonly wrong: string[] = [];
  readonly counts = { batches: 0, transactions: 0, keys: 0, locks: 0, changes: 0 };
  readonly lives: Lives;
  readonly #pair: Pair;
  #isOver = false;
  #inside = 0;

  constructor(pair: Pair) {
    this.#pair = pair;
    this.lives = new Lives(
      (name, args) => pair.mortal(name, args),
      (name, args) => pair.stays(name, args),
    );
  }

  async during(kills: () => Promise<void>): Promise<void> {
    const all = [
      this.#loop((n) => this.#batches(n)),
      this.#loop((n) => this.#transactions(n)),
      this.#loop((n) => this.#keys(n)),
      this.#watch(),
      this.#loop((n) => this.lives.child(n)),
      this.#loop(() => this.lives.plan()),
      this.#loop((n) => this.lives.fact(n)),
      ...['one', 'two', 'three'].map((holder) => this.#loop(() => this.#lock(holder))),
    ];
    try {
      await kills();
    } finally {
      this.#isOver = true;
    }
    await Promise.all(all);
  }

  async #loop(step: (n: number) => Promise<void>): Promise<void> {
    for (let n = 1; !this.#isOver; n++) {
      await step(n).catch((cause: unknown) => {
        if (cause instanceof Refused) this.wrong.push(cause.message);
      });
      await pause(1); // a server that is down refuses at once
    }
  }

  /** The same value in all of a batch, the same number at all of its nodes and pheromones. */
  async #batches(n: number): Promise<void> {
    const entries = Array.from({ length: ENTRIES }, (_, i) => ({ key: `batch:${i}`, value: n }));
    await this.#pair.mortal('bb_batch_set', { entries });
    const nodes = ['a', 'b', 'c'].map((id) => ({ op: 'add_node', node: { id, attributes: { n } } }));
    await this.#pair.mortal('graph_batch_mutate', { graph_id: 'batch', operations: nodes });
    const marks = ['a', 'b'].map((node_id) => ({ node_id, type: 'n', intensity: 1 }));
    await this.#pair.mortal('stig_batch', { entries: marks });
    this.counts.batches++;
  }

  async #transactions(n: number): Promise<void> {
    const { tx_id } = await this.#pair.mortal('tx_begin', { graph_id: 'tx' });
    for (const id of ['a', 'b']) {
      const operations = [{ op: 'set_node_attribute', id, key: 'n', value: n }];
      await this.#pair.mortal('tx_apply', { tx_id, operations });
    }
    await this.#pair.mortal('tx_commit', { tx_id });
    this.counts.transactions++;
  }

  /** A key answered by one server gets the same answer from the other. */
  async #keys(n: number): Promise<void> {
    const operations = [{ op: 'add_node', node: { id: `k${n}` } }];
    const asked = { graph_id: 'keys', operations, idempotency_key: `key ${n}` };
    const answers = await Promise.allSettled([
      this.#pair.mortal('graph_batch_mutate', asked),
      this.#pair.stays('graph_batch_mutate', asked),
    ]);
    const answered = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const versions = new Set(answered.map(({ committed_version }) => committed_version));
    if (versions.size > 1) this.wrong.push(`key ${n} was answered with versions ${[...versions]}`);
    if (answered.filter(({ idempotent }) => !idempotent).length > 1) this.wrong.push(`key ${n} was worked off twice`);
    this.counts.keys++;
  }

  /** One holder at a time. */
  async #lock(holder: string): Promise<void> {
    const locked = await this.#pair.stays('graph_lock', { graph_id: 'lock', holder }).catch((cause: unknown) => {
      if (cause instanceof Refused && cause.message.includes('E-GRAPH-LOCK-HELD')) return null;
      throw cause;
    });
    if (locked === null) return;
    if (++this.#inside > 1) this.wrong.push('two held the lock');
    await pause(10);
    this.#inside--;
    await this.#pair.stays('graph_unlock', { lock_id: locked.lock_id });
    this.counts.locks++;
  }

  /** Every version once, in order. */
  async #watch(): Promise<void> {
    let last = 0;
    for (let isLast = false; !isLast; ) {
      isLast = this.#isOver;
      const seen = await this.#pair.stays('bb_watch', { start_version: last, limit: 200 });
      if (seen.truncated) this.wrong.push('the watch was told that changes are gone');
      for (const { version } of seen.events as readonly { version: number }[]) {
        if (version !== last + 1) this.wrong.push(`version ${version} was told after ${last}`);
        last = version;
        this.counts.changes++;
      }
      await pause(2);
    }
  }
}

/** What must hold of the store once all is quiet. */
async function inspect(pair: Pair): Promise<string[]> {
  const wrong: string[] = [];
  const same = (what: string, values: readonly unknown[]): void => {
    if (new Set(values).size > 1) wrong.push(`${what} is in parts: ${values}`);
  };
  const { entries } = await pair.mortal('bb_query', { namespace: 'batch', limit: 100 });
  if (entries.length !== ENTRIES) wrong.push(`${entries.length} of ${ENTRIES} entries`);
  same(
    'a batch of the blackboard',
    entries.map(({ value }: { value: number }) => value),
  );
  for (const graph of ['batch', 'tx']) {
    const { items } = await pair.mortal('resources_list', { prefix: `sc://graphs/${graph}@`, limit: 500 });
    for (const { uri } of items as readonly { uri: string }[]) {
      const { payload } = await pair.mortal('resources_read', { uri });
      same(
        uri,
        payload.graph.nodes.map(({ attributes }: { attributes: { n: number } }) => attributes.n),
      );
    }
  }
  const { points } = await pair.mortal('stig_snapshot', {});
  same(
    'a batch of pheromones',
    points.map(({ intensity }: { intensity: number }) => intensity),
  );
  return wrong;
}

/** How often a server is killed, and the seed of the moments. */
interface Plan {
  readonly kills: number;
  readonly seed: number;
}

/**
 * Kill -9 of one of two servers at random points, under writers of batches, transactions and keyed calls, with contenders
 * for a lock and a watch on the one that stays.
 */
export async function fleetKills({ kills, seed }: Plan, database: string | null = null): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-fleet-soak-'));
  const pair = new Pair(folder, database);
  const random = chance(seed);
  try {
    await pair.open();
    const node = (id: string) => ({ op: 'add_node', node: { id, attributes: { n: 0 } } });
    for (const [graph_id, ids] of Object.entries({ batch: ['a', 'b', 'c'], tx: ['a', 'b'], keys: [] as string[] })) {
      const operations = [...ids, ...(ids.length === 0 ? ['k0'] : [])].map(node);
      await pair.stays('graph_batch_mutate', { graph_id, expected_version: 0, operations });
    }
    const work = new Work(pair);
    await work.during(async () => {
      for (let round = 0; round < kills; round++) {
        await pause(random() * LONGEST_MS);
        await pair.kill();
        await pair.restart();
      }
      await pause(100);
    });
    const wrong = [...work.wrong, ...(await inspect(pair)), ...(await work.lives.inspect())];
    await work.lives.end();
    const { batches, transactions, keys, locks, changes } = work.counts;
    const { children, plans, facts } = work.lives.counts;
    const did = `${kills} kills (seed ${seed}): ${batches} batches, ${transactions} transactions, ${keys} keys, ${locks} locks, ${changes} changes watched, ${children} children, ${plans} plans, ${facts} facts that went`;
    return { passed: wrong.length === 0, says: [did, ...wrong.slice(0, 5)].join('; ') };
  } finally {
    await pair.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
