import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { compiled } from '../helpers/built.ts';
import { CUTTING, sendPatiently } from '../helpers/checked-session.ts';
import { ClaudeAgent } from '../helpers/claude-agent.ts';
import { type FakeUpstream, startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn } from '../helpers/markers.ts';
import { type ServerProcess, startServerProcess } from '../helpers/server-process.ts';
import { SigningModel } from '../helpers/signing-upstream.ts';
import { serverLog } from '../helpers/texts.ts';

const source = fileURLToPath(new URL('../helpers/failing-file.c', import.meta.url));
const canCompile = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0;
if (!canCompile) process.stderr.write('no C compiler on Linux here: tests of failing system calls are left out\n');

beforeAll(() => void compiled('cli.js'), 120_000);

const isLong = process.env.MCP_PRUNER_TEST_LONG === 'true';
/** How many calls of a session, and of a server's life, fail in the short run; each life starts a process. */
const SOME = { session: { read: 1, write: 2, sync: 1 }, life: { read: 1, write: 1, sync: 1 } };
/** The short run has the setting that makes all three kinds of calls. */
const SYNCS = isLong ? ['normal', 'full'] : ['full'];
/** A request is sent again so often while the proxy asks for it. */
const ATTEMPTS = 100;
/** No call comes after this one. */
const EVERY = 99_999_999;
const EIO = 5;
const ENOSPC = 28;
const KINDS = ['read', 'write', 'sync'] as const;
type Kind = (typeof KINDS)[number];

/** Which calls fail: the numbers of the first one, and of the first one after it, from 1; and the error. */
interface Fault {
  readonly from: number;
  readonly to: number;
  readonly error: number;
}

/** The numbers of the calls that fail: all, or some at even distances. */
function failing(count: number, some: number): number[] {
  const step = isLong ? 1 : count / some;
  return Array.from({ length: isLong ? count : Math.min(count, some) }, (_, i) => 1 + Math.floor(i * step));
}

/** System calls of the store's files, which a server makes through the library built from failing-file.c. */
class Faults {
  readonly env: Readonly<Record<string, string>>;
  readonly #path: string;

  constructor(dbPath: string) {
    const folder = tempFolder();
    const library = join(folder, 'failing-file.so');
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl']);
    this.#path = join(folder, 'control');
    this.disarm();
    this.env = { LD_PRELOAD: library, FAULT_CONTROL: this.#path, FAULT_FILE: dbPath };
  }

  /** Counts from 0 again. */
  arm(kind: Kind, { from, to, error }: Fault): void {
    this.#write([0, 0, 0, KINDS.indexOf(kind), from, to, error, 0]);
  }

  disarm(): void {
    this.#write([0, 0, 0, 0, 0, 0, 0, 0]);
  }

  calls(kind: Kind): number {
    return this.#read(KINDS.indexOf(kind));
  }

  get failed(): number {
    return this.#read(7);
  }

  #read(index: number): number {
    return Number(readFileSync(this.#path).readBigInt64LE(8 * index));
  }

  #write(numbers: readonly number[]): void {
    const bytes = Buffer.from(BigInt64Array.from(numbers.map(BigInt)).buffer);
    writeFileSync(this.#path, bytes, { flag: 'a' }); // exists
    writeFileSync(this.#path, bytes, { flag: 'r+' }); // in place: the server maps it
  }
}

/** A client with a conversation of its own. */
class Session {
  readonly #agent: ClaudeAgent;
  readonly #number: number;
  #turns = 0;

  constructor(model: SigningModel, number: number) {
    this.#agent = new ClaudeAgent(model);
    this.#number = number;
  }

  /** A question, a call and its result. */
  async turn({ url }: ServerProcess): Promise<void> {
    const seed = 100 * this.#number + ++this.#turns;
    this.#agent.user(`Why does payment ${seed} fail?`);
    await sendPatiently(this.#agent, { url, calls: [`npm run job${seed}`], attempts: ATTEMPTS });
    this.#agent.results([serverLog(90, seed)]);
    await sendPatiently(this.#agent, { url, calls: [], attempts: ATTEMPTS });
  }
}

/** Every marker in what the upstream received, with the original text of it. */
function markersOf(upstream: FakeUpstream): Map<string, string> {
  const originals = new Map<string, string>();
  const visit = (value: unknown, command: string): void => {
    if (typeof value === 'string') for (const { pruneId } of markersIn(value)) originals.set(pruneId, command);
  };
  for (const { body } of upstream.requests) {
    let seed = 0;
    const { messages } = JSON.parse(body.toString('utf8')) as { messages: { content: unknown }[] };
    for (const { content } of messages) {
      for (const block of Array.isArray(content) ? content : []) {
        seed = Number(/job(\d+)/.exec(block.input?.command ?? '')?.[1] ?? seed);
        visit(block.content, serverLog(90, seed));
      }
    }
  }
  return originals;
}

/** Waits for the store: after a fault it opens its file again when its next attempt is due. */
async function expectRecoverable(server: ServerProcess, originals: ReadonlyMap<string, string>): Promise<void> {
  for (const [pruneId, text] of originals) {
    await expect.poll(async () => `${await server.recover(pruneId, 1, 90)}\n`).toBe(text);
  }
}

async function stop(server: ServerProcess): Promise<void> {
  server.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
}

/** Names of errors of SQLite and of the system. */
const CAUSE = /SQLITE_(?:IOERR|FULL|CANTOPEN|CORRUPT)\w*|\bEIO\b|\bENOSPC\b/;

/** Error of the n-th call. */
const errorOf = (kind: Kind, n: number): number => (kind === 'write' && n % 2 === 0 ? ENOSPC : EIO);

describe.skipIf(!canCompile)('a store whose file fails at any system call', () => {
  async function setUp(sync: string) {
    const model = new SigningModel();
    const upstream = await startUpstream(model.answer);
    const dbPath = join(tempFolder(), 'store.db');
    const faults = new Faults(dbPath);
    const env = {
      ...{ ...CUTTING, ...faults.env, MCP_PRUNER_LOCAL_TOKEN: 'off', MCP_PRUNER_STORE_SYNC: sync },
      ...{ MCP_PRUNER_ANTHROPIC_URL: upstream.url, MCP_PRUNER_DB_PATH: dbPath, MCP_PRUNER_TIMEOUT_MS: '30000' },
    };
    const sessions: Session[] = [];
    const newSession = (): Session => {
      const one = new Session(model, sessions.length);
      sessions.push(one);
      return one;
    };
    const start = () => startServerProcess({ env });
    /** Continues sessions at a server without faults. */
    const expectAllWell = async (continued: readonly Session[]): Promise<void> => {
      const server = await start();
      for (const one of continued) await one.turn(server);
      expect(model.mismatches).toEqual([]);
      const originals = markersOf(upstream);
      expect(originals.size).toBeGreaterThan(sessions.length);
      await expectRecoverable(server, originals);
      await stop(server);
    };
    return { upstream, faults, sessions, newSession, start, expectAllWell };
  }

  it.each(SYNCS)(
    'breaks no session of a running server, and loses no line (STORE_SYNC=%s)',
    async (sync) => {
      const { upstream, faults, sessions, newSession, start, expectAllWell } = await setUp(sync);
      const server = await start();
      const run = async (): Promise<void> => {
        const session = newSession();
        await session.turn(server);
        await session.turn(server);
      };
      await run();
      faults.disarm();
      await run();
      const counts = KINDS.map((kind) => ({ kind, count: faults.calls(kind) }));
      for (const { kind, count } of counts) {
        for (const n of failing(count, SOME.session[kind])) {
          for (const to of [n + 1, EVERY]) {
            faults.arm(kind, { from: n, to, error: errorOf(kind, n) });
            await run();
            faults.disarm();
          }
        }
      }
      expect(server.log).toMatch(CAUSE);
      await expectRecoverable(server, markersOf(upstream));
      await stop(server);
      await expectAllWell(sessions);
    },
    1_200_000,
  );

  it.each(SYNCS)(
    'may fail once anywhere in the life of a server, which goes on and logs the cause (STORE_SYNC=%s)',
    async (sync) => {
      const { faults, sessions, newSession, start, expectAllWell } = await setUp(sync);
      /** A server's life: a new session, one that the server before it began, and its end. Returns its log. */
      const live = async (): Promise<string> => {
        const server = await start();
        const before = sessions.at(-1);
        await newSession().turn(server);
        await before?.turn(server);
        await stop(server);
        return server.log;
      };
      await live();
      faults.disarm();
      await live();
      const counts = KINDS.map((kind) => ({ kind, count: faults.calls(kind) }));
      for (const { kind, count } of counts) {
        let failed = 0;
        const unlogged: string[] = [];
        for (const n of failing(count, SOME.life[kind])) {
          faults.arm(kind, { from: n, to: n + 1, error: errorOf(kind, n) });
          const log = await live();
          failed += faults.failed;
          if (faults.failed > 0 && !CAUSE.test(log)) unlogged.push(`${kind} ${n}: ${log}`);
          faults.disarm();
        }
        expect(failed, kind).toBeGreaterThan(0);
        expect(unlogged, kind).toEqual([]);
      }
      await expectAllWell(sessions);
    },
    3_600_000,
  );
});
