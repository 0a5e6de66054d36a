import { join } from 'node:path';
import { secretsOf } from '@mcp-pruner/agents/secrets.ts';
import type { ChildRecord, ChildState } from '../ports.ts';
import { isOnSameHost } from '../servers.ts';
import { adoptOrphans } from './adopt.ts';
import type { ChildFolders } from './folders.ts';
import { forbids, type Limits } from './limits.ts';
import { LoadWatch } from './load-watch.ts';
import { OutputReader } from './output.ts';
import { type ChildRecords, childEvent, limitReported, meta } from './records.ts';
import { type ChildrenOptions, hasEnded, isActive, type StartSpec } from './spec.ts';

export interface LiveChild {
  /**
   * Record at the start of monitoring. The token does not change while the child runs; the pid is `null` if our process
   * was not started yet.
   */
  readonly record: ChildRecord;
  readonly readers: readonly OutputReader[];
  /** Whether the child is our own process, whose exit event we receive. Adopted children must be polled. */
  readonly isOurs: boolean;
  readonly load: LoadWatch;
  limitTimer: NodeJS.Timeout | undefined;
}

const POLL_MS = 200;
const SECOND_MS = 1_000;
const HEARTBEAT_MS = 2_000;
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;
const KILL_WAIT_MS = 5_000;

/** Monitors the children of this server: their output, limits and end. Adopts children of crashed servers. */
export class Keeper {
  readonly #options: ChildrenOptions;
  readonly #records: ChildRecords;
  readonly #folders: ChildFolders;
  readonly #live = new Map<string, LiveChild>();
  readonly #byToken = new Map<string, string>();
  readonly #ending = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #lastSecond = 0;
  #lastBeat = 0;
  #polling: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: ChildrenOptions, records: ChildRecords, folders: ChildFolders) {
    this.#options = options;
    this.#records = records;
    this.#folders = folders;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Adopts children of crashed servers, and starts polling. @param collectOld - deletes old children by id */
  async open(collectOld: (childId: string) => Promise<unknown>): Promise<void> {
    await this.#beat().catch((cause: unknown) => this.#failed('heartbeat', cause));
    await this.#adopt().catch((cause: unknown) => this.#failed('adopt', cause));
    this.#timer = setInterval(() => {
      this.#polling ??= this.#poll(collectOld).finally(() => {
        this.#polling = null;
      });
    }, POLL_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#polling;
    const { store, instanceId, graceMs } = this.#options;
    const ids = [...this.#live.keys()];
    await Promise.all(
      ids.map((id) => this.end(id, 'server_stop', graceMs).catch((cause: unknown) => this.#failed('stop', cause))),
    );
    await store.children.farewell(instanceId).catch((cause: unknown) => this.#failed('farewell', cause));
  }

  knownBy(tokenHash: string): string | undefined {
    return this.#byToken.get(tokenHash);
  }

  /** Starts to monitor a child. @param isOurs - the caller reports the exit to `ended` */
  watch(
    record: ChildRecord,
    secrets: readonly string[],
    positions: { readonly stdout: number; readonly stderr: number },
    isOurs: boolean,
  ): LiveChild {
    const { childId, tokenHash } = record;
    const folder = this.#folders.of(childId);
    const readers = (['stdout', 'stderr'] as const).map(
      (stream) =>
        new OutputReader({ file: join(folder, stream), stream, position: positions[stream], secrets, tokenHash }),
    );
    this.forget(childId);
    const live: LiveChild = { record, readers, isOurs, load: new LoadWatch(), limitTimer: undefined };
    this.#live.set(childId, live);
    if (tokenHash !== null) this.#byToken.set(tokenHash, childId);
    return live;
  }

  forget(childId: string): void {
    const live = this.#live.get(childId);
    clearTimeout(live?.limitTimer);
    if (live?.record.tokenHash) this.#byToken.delete(live.record.tokenHash);
    this.#live.delete(childId);
  }

  async ended(live: LiveChild, exitCode: number | null, signal: string | null, state?: ChildState): Promise<void> {
    const { childId } = live.record;
    if (this.#live.get(childId) !== live) return;
    await this.#readOutput(live, true).catch((cause: unknown) => this.#failed('output', cause));
    this.forget(childId);
    await this.#records
      .update(childId, (record, nowMs) => {
        if (!isActive(record)) return null;
        const ended: ChildRecord = {
          ...record,
          state: state ?? (signal !== null ? 'killed' : exitCode === 0 || exitCode === null ? 'terminated' : 'error'),
          exitCode,
          signal,
          endedMs: nowMs,
        };
        const payload = { state: ended.state, exit_code: exitCode, signal, stop_reason: ended.stopReason };
        const words = signal === null ? `exit code ${exitCode ?? 'unknown'}` : signal;
        return { record: ended, events: [childEvent('child_ended', ended, payload)], logs: [meta(`ended: ${words}`)] };
      })
      .catch((cause: unknown) => this.#failed('end', cause));
    this.#folders.removePrompt(childId);
    this.#records.changes.notify();
  }

  /** Asks a child to exit, kills it after the grace period, and waits for its end. */
  async end(childId: string, reason: string, graceMs: number, why?: string): Promise<ChildRecord> {
    this.#ending.add(childId);
    try {
      return await this.#end(childId, reason, graceMs, why);
    } finally {
      this.#ending.delete(childId);
    }
  }

  async #end(childId: string, reason: string, graceMs: number, why: string | undefined): Promise<ChildRecord> {
    const { processes, instanceId } = this.#options;
    const record = await this.#records.update(childId, (found) => {
      if (found.state !== 'starting' && found.state !== 'running') return null;
      const next: ChildRecord = { ...found, state: 'stopping', stopReason: found.stopReason ?? reason };
      return { record: next, logs: [meta(`stopping: ${reason}${why === undefined ? '' : ` (${why})`}`)] };
    });
    if (!isActive(record)) return record;
    // only a server on the child's host can signal it; other hosts leave a stop request in the record
    const { pid, processStart } = isOnSameHost(record.instanceId, instanceId)
      ? record
      : { pid: null, processStart: null };
    const isThere = (): boolean => pid !== null && processes.startOf(pid) === processStart;
    const signalled = (signal: NodeJS.Signals): void => {
      // the group may still contain processes after its leader has ended
      if (pid !== null && (isThere() || this.#live.get(childId)?.isOurs === true)) processes.signal(pid, signal);
    };
    if (graceMs > 0) {
      signalled('SIGTERM');
      const ended = await this.untilEnded(childId, graceMs);
      if (pid !== null && hasEnded(ended)) processes.signal(pid, 'SIGKILL'); // processes started by the child
      if (hasEnded(ended)) return ended;
    }
    signalled('SIGKILL');
    return this.untilEnded(childId, KILL_WAIT_MS);
  }

  /** Ends a child after a grace period, since it may exit by itself after a refused request. */
  endLater(childId: string, key: string): void {
    const live = this.#live.get(childId);
    if (!live || live.limitTimer !== undefined) return;
    live.limitTimer = setTimeout(() => {
      if (this.#live.get(childId) === live) this.#endForLimit(childId, key);
    }, this.#options.graceMs).unref();
  }

  /** Waits until a child has ended, for at most `waitMs`. @returns its latest record */
  async untilEnded(childId: string, waitMs: number, signal?: AbortSignal): Promise<ChildRecord> {
    const endMs = performance.now() + waitMs;
    for (;;) {
      const record = await this.#records.get(childId);
      const leftMs = endMs - performance.now();
      if (!isActive(record) || leftMs <= 0 || signal?.aborted) return record;
      if (this.#isClosed) await this.#checkAdopted(childId);
      await this.#records.changes.next(Math.min(leftMs, POLL_MS / 2), signal);
    }
  }

  async #poll(collectOld: (childId: string) => Promise<unknown>): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = performance.now();
    const isSecond = nowMs - this.#lastSecond >= SECOND_MS;
    if (isSecond) this.#lastSecond = nowMs;
    for (const [childId, live] of [...this.#live]) {
      await this.#readOutput(live, false).catch((cause: unknown) => this.#failed('output', cause));
      await this.#checkAdopted(childId).catch((cause: unknown) => this.#failed('look', cause));
      if (isSecond) await this.#checkLimits(live).catch((cause: unknown) => this.#failed('limits', cause));
    }
    if (nowMs - this.#lastBeat < HEARTBEAT_MS) return;
    this.#lastBeat = nowMs;
    await this.#beat().catch((cause: unknown) => this.#failed('heartbeat', cause));
    await this.#adopt().catch((cause: unknown) => this.#failed('adopt', cause));
    await store.children
      .endedBefore(Math.trunc(clock.nowMs()) - KEPT_MS)
      .then((old) => Promise.all(old.map(collectOld)))
      .catch((cause: unknown) => this.#failed('collect', cause));
  }

  async #checkAdopted(childId: string): Promise<void> {
    const live = this.#live.get(childId);
    if (!live || live.isOurs) return;
    const { pid, processStart } = live.record;
    if (pid === null || this.#options.processes.startOf(pid) !== processStart) await this.ended(live, null, null);
  }

  async #readOutput(live: LiveChild, isLast: boolean): Promise<void> {
    const { store, clock } = this.#options;
    for (let again = true; again; ) {
      const reads = live.readers.map((reader) => reader.read(clock.nowMs(), isLast));
      const lines = reads.flatMap((read) => read.lines);
      const [stdout = 0, stderr = 0] = reads.map(({ position }) => position);
      if (lines.length > 0) await store.children.addOutput(live.record.childId, lines, { stdout, stderr });
      again = reads.some(({ isMore }) => isMore);
    }
  }

  async #checkLimits(live: LiveChild): Promise<void> {
    const { processes, clock, store } = this.#options;
    const record = await store.children.get(live.record.childId);
    if (record === null) return;
    const { childId, stopReason } = record;
    if (record.state === 'stopping' && !this.#ending.has(childId)) this.#stop(childId, stopReason ?? 'cancelled');
    if (record.state !== 'running' || record.pid === null) return;
    const limits = record.limits as Limits;
    const over = forbids(record);
    // any server may have refused the request that exceeded the limit
    if (over !== null && record.limitsTold.includes(over)) this.endLater(record.childId, over);
    const ranMs = clock.nowMs() - (record.startedMs ?? clock.nowMs());
    if (limits.wallclock_ms !== undefined && ranMs > limits.wallclock_ms)
      return this.#exceeded(record, 'wallclock_ms', ranMs);
    if (limits.memory_mb === undefined && limits.cpu_percent === undefined) return;
    const load = processes.load(record.pid);
    const passed = load && live.load.passed(limits, load);
    if (passed) await this.#exceeded(record, passed.key, passed.used);
  }

  async #exceeded({ childId }: ChildRecord, key: string, used: number): Promise<void> {
    await this.#records.update(childId, (record) =>
      record.limitsTold.includes(key) ? null : limitReported(record, key, Math.round(used)),
    );
    this.#endForLimit(childId, key);
  }

  #endForLimit(childId: string, key: string): void {
    this.#stop(childId, `limit:${key}`);
  }

  #stop(childId: string, reason: string): void {
    void this.end(childId, reason, this.#options.graceMs).catch((cause: unknown) => this.#failed('stop', cause));
  }

  async #adopt(): Promise<void> {
    const { store, env } = this.#options;
    for (const adopted of await adoptOrphans(this.#options, this.#records)) {
      const { childId } = adopted;
      const spec = (await store.children.spec(childId)) as StartSpec | null;
      const secrets = [...secretsOf(env), ...secretsOf(spec?.env ?? {})];
      this.watch(adopted, secrets, await store.children.positions(childId), false);
    }
  }

  #beat(): Promise<void> {
    const { store, instanceId, pid, url } = this.#options;
    return store.children.heartbeat({ instanceId, pid, url: url() });
  }

  #failed(what: string, cause: unknown): void {
    this.#options.onFailure(what, cause);
  }
}
