import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Random } from '../../bench/fuzz/random.ts';
import { type RunningServer, startHttp } from '../../src/app/serve.ts';
import { edition } from '../../src/edition.ts';
import { createLog } from '../../src/observe/log.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { ClaudeAgent } from '../helpers/claude-agent.ts';
import { type FakeUpstream, startUpstream } from '../helpers/fake-upstream.ts';
import { emptyDatabase, newDatabase } from '../helpers/postgres.ts';
import { settingsOf } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { SigningModel } from '../helpers/signing-upstream.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const DAY_MS = 86_400_000;
/**
 * Many sessions of many turns, by `RANDOM_SESSIONS=seeds,turns,first npx vitest run test/http/random-sessions.test.ts`; with
 * `RANDOM_SESSIONS_STORE=postgres` over a database instead of a file, and with `RANDOM_SESSIONS_BEFORE=<folder>`, where an
 * earlier version is built, as processes of their own that begin with that version and are upgraded midway; with
 * `RANDOM_SESSIONS_KILLS=1` as processes of the present version. These processes are killed rather than ended.
 */
const [SEEDS = 2, TURNS = 10, FIRST = 3] = (process.env.RANDOM_SESSIONS ?? '').split(',').filter(Boolean).map(Number);
const OVER_DATABASE = process.env.RANDOM_SESSIONS_STORE === 'postgres';
const BEFORE = process.env.RANDOM_SESSIONS_BEFORE;
const KILLS = process.env.RANDOM_SESSIONS_KILLS === '1';

/** Settings that somebody may change in the middle of a session. */
const OTHER_SETTINGS: readonly [Readonly<Record<string, string>>, ...Readonly<Record<string, string>>[]] = [
  {},
  { MCP_PRUNER_MAX_PRUNE_RATIO: '0.3' },
  { MCP_PRUNER_ANNOTATE_LINES: 'true' },
  { MCP_PRUNER_MIN_PRUNE_CHARS: '5000' },
  { MCP_PRUNER_NEVER_PRUNE_TOOLS: 'Bash' },
  { MCP_PRUNER_ENABLED: 'false' },
  { MCP_PRUNER_MODE: 'shadow' },
  { MCP_PRUNER_HOLDOUT: '0.5' },
];

/** Tools that the agents declare; the model calls the first one alone. */
const TOOLS = ['Bash', 'Fish', 'FishLake'].map((name) => ({
  name,
  description: 'Finds fish.',
  input_schema: { type: 'object' },
}));

/** Agents and a proxy to which everything happens that may. */
class Session {
  readonly #random: Random;
  readonly #model = new SigningModel();
  readonly #clock = manualClock();
  readonly #folder = tempFolder();
  readonly #upstream: FakeUpstream;
  /** A store that is lost takes with it which settings and which version held when: such a session has one of each. */
  readonly #losesStore: boolean;
  #agents: ClaudeAgent[];
  #server: Pick<RunningServer, 'url' | 'close'> | null = null;
  /** Whether the present version runs. */
  #upgraded: boolean;
  #env: Readonly<Record<string, string>> = {};
  #lost = 0;
  readonly #database: string | null;
  readonly happened: string[] = [];

  /** @param database - URL of an empty one; `null`: the store is a file */
  constructor(seed: number, upstream: FakeUpstream, database: string | null) {
    this.#database = database;
    this.#random = new Random(seed);
    this.#upstream = upstream;
    this.#losesStore = seed % 2 === 0;
    this.#upgraded = BEFORE === undefined || this.#losesStore;
    upstream.answer = this.#model.answer;
    this.#agents = [new ClaudeAgent(this.#model, [], TOOLS)];
  }

  async run(turns: number): Promise<void> {
    await this.#start();
    for (let turn = 0; turn < turns; turn++) {
      await this.#mishap();
      await this.#turn(turn);
    }
    await this.#stop();
    // a loss of the store is seen by its first refusal, which the session outlives
    const most = this.#lost * (this.#agents.length + 1);
    expect(this.#model.mismatches.length, this.happened.join('\n')).toBeLessThanOrEqual(most);
  }

  async #stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    await server?.close();
  }

  async #start(): Promise<void> {
    await this.#stop();
    const env = {
      MCP_PRUNER_PORT: '0',
      MCP_PRUNER_UPSTREAM_URL: this.#upstream.url,
      MCP_PRUNER_ANTHROPIC_URL: this.#upstream.url,
      MCP_PRUNER_DB_PATH: join(this.#folder, 'store', 'store.db'),
      MCP_PRUNER_MIN_PRUNE_CHARS: '1000',
      MCP_PRUNER_MIN_KEEP_LINES: '5',
      MCP_PRUNER_TIMEOUT_MS: '20000',
      ...(this.#database !== null && { MCP_PRUNER_DATABASE_URL: this.#database }),
      ...this.#env,
    };
    if (BEFORE !== undefined || KILLS) {
      const before = BEFORE === undefined || this.#upgraded ? undefined : join(BEFORE, 'dist', 'cli.js');
      this.#server = await startVersion(before, env);
      return;
    }
    const settings = settingsOf(env);
    const log = await createLog({ level: 'silent', fd: 2 });
    this.#server = await startHttp(settings, { edition, log, version: '0.0.0-test', clock: this.#clock });
  }

  async #mishap(): Promise<void> {
    const random = this.#random;
    if (random.once(6) && !this.#losesStore) {
      this.#env = random.pick(OTHER_SETTINGS);
      this.happened.push(`settings ${JSON.stringify(this.#env)}`);
      await this.#start();
    } else if (random.once(12) && this.#agents.length > 1) {
      this.happened.push('new conversation');
      this.#agents[0] = new ClaudeAgent(this.#model, [], TOOLS);
    } else if (random.once(KILLS ? 3 : 12)) {
      this.happened.push('restart');
      await this.#start();
    } else if (!this.#upgraded && random.once(10)) {
      this.happened.push('upgrade');
      this.#upgraded = true;
      await this.#start();
    } else if (random.once(15)) {
      this.happened.push('weeks pass');
      this.#clock.now += 20 * DAY_MS;
    } else if (this.#losesStore && random.once(13)) {
      this.happened.push('store lost');
      await this.#stop();
      if (this.#database === null) rmSync(join(this.#folder, 'store'), { recursive: true, force: true });
      else await emptyDatabase(this.#database);
      this.#lost++;
      await this.#start();
    }
  }

  async #turn(turn: number): Promise<void> {
    const random = this.#random;
    const agent = random.pick(this.#agents as [ClaudeAgent, ...ClaudeAgent[]]);
    const headers: Record<string, string> = random.once(8) && !this.#losesStore ? { 'x-mcp-pruner': 'off' } : {};
    agent.user(`Question ${turn}: why does the payment fail, and which order is it?`);
    await this.#send(agent, random.between(1, 3), headers);
    for (let step = random.between(0, 2); step >= 0; step--) {
      agent.results([this.#text(), this.#text(), this.#text()]);
      if (random.once(5)) expect(await agent.count(this.#url), this.happened.join('\n')).toBeLessThan(401);
      await this.#send(agent, step === 0 ? 0 : random.between(1, 3), headers);
    }
    if (random.once(6)) {
      this.happened.push(`${turn}: fork`);
      const fork = agent.fork();
      if (this.#agents.length < 3) this.#agents.push(fork);
      else this.#agents[random.between(0, 2)] = fork;
      if (random.once(2)) {
        fork.regenerate();
        await this.#send(fork, 0, headers);
      }
    } else if (random.once(25)) {
      this.happened.push(`${turn}: compaction`);
      agent.compact();
      await this.#send(agent, 0, headers);
    }
  }

  async #send(agent: ClaudeAgent, calls: number, headers: Readonly<Record<string, string>>): Promise<void> {
    const commands = Array.from({ length: calls }, (_, i) => `npm run job-${this.#random.between(0, 9)}-${i}`);
    const { status, text } = await agent.send(this.#url, commands, headers);
    expect(status, `${this.happened.join('\n')}\n${text.slice(0, 300)}`).toBe(200);
  }

  #text(): string {
    const random = this.#random;
    const seed = random.between(0, 1_000);
    return random.pick([serverLog(60, seed), sourceFile(12, seed), 'ok', 'a.ts\nb.ts\n'] as const);
  }

  get #url(): string {
    return this.#server?.url ?? '';
  }
}

/** A version as a process of its own, which is killed rather than ended. */
async function startVersion(program: string | undefined, env: Readonly<Record<string, string>>) {
  const server = await startServerProcess({ env, ...(program !== undefined && { program }) });
  return {
    url: server.url,
    async close(): Promise<void> {
      server.kill('SIGKILL');
      await server.ended();
    },
  };
}

describe('a session on a wire with verified history', () => {
  it.each(Array.from({ length: SEEDS }, (_, i) => FIRST + i))(
    'is never refused because of the proxy (seed %i)',
    async (seed) => {
      const session = new Session(seed, await startUpstream(), OVER_DATABASE ? await newDatabase() : null);
      await session.run(TURNS);
    },
    3_600_000,
  );
});
