import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ChildGate, ChildRequestUsage } from '../../core/ports/child-gate.ts';
import type { ChildChange, ChildLogLine, ChildRecord, ChildState, FleetStore } from '../../core/ports/fleet.ts';
import type { Clock } from '../../core/ports.ts';
import { PrunerError } from '../../errors.ts';
import type { TellFailure } from '../../failures.ts';
import { Changes } from '../changes.ts';
import { type Caller, correlationOf, eventOf, type Hints } from '../hints.ts';
import { KeyedQueue } from '../queue.ts';
import { childEnvironment, type Environment, maySet, secretsOf } from './environment.ts';
import {
  type Ceilings,
  changedLimits,
  defaultLimits,
  forbids,
  type LimitChanges,
  type Limits,
  unenforced,
} from './limits.ts';
import { hashToken, OutputReader } from './output.ts';
import type { Places } from './places.ts';
import type { Processes } from './processes.ts';
import {
  type ChildInput,
  hasEnded,
  isActive,
  MAX_MANIFEST_BYTES,
  type Manifest,
  manifestOf,
  type SpawnInput,
  type StartSpec,
} from './spec.ts';

/** How an agent known by name is started for one prompt. */
export interface AgentLaunch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

export interface ChildrenOptions {
  readonly store: FleetStore;
  readonly clock: Clock;
  readonly processes: Processes;
  readonly places: Places;
  readonly newId: () => string;
  /** 128 random bits in hex. */
  readonly newToken: () => string;
  /** Of this server. */
  readonly instanceId: string;
  readonly pid: number;
  /** Where children reach this server, without a path. */
  readonly url: () => string;
  /** Folder of the private files of all children. */
  readonly folder: string;
  /** The server's own environment. */
  readonly env: Environment;
  /** Variables of it that are handed on beside the usual ones. */
  readonly handedOn: readonly string[];
  readonly maxChildren: number;
  readonly graceMs: number;
  readonly ceilings: Ceilings;
  /** @returns `null` for a name that no wired agent has */
  readonly launch: (
    agent: string,
    asked: {
      readonly url: string;
      readonly token: string;
      readonly prompt: string;
      readonly model: string | null;
      readonly folder: string;
    },
  ) => AgentLaunch | null;
  /** What a request cost in dollars; `null` without a price for its model. */
  readonly costOf: (usage: ChildRequestUsage) => number | null;
  readonly onFailure: TellFailure;
}

const MAX_RECORDS = 1_000;
const STARTS_PER_MINUTE = 120;
const LOOK_MS = 200;
const SECOND_MS = 1_000;
const HEARTBEAT_MS = 2_000;
/** A server that was not heard of for so long no longer looks after its children. */
const STALE_MS = 10_000;
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;
const CPU_WINDOW_S = 10;
const CPU_MEANS = 3;

/** What this process knows of a child that it looks after. */
interface Live {
  record: ChildRecord;
  readonly readers: readonly OutputReader[];
  /** Whether we hear of its exit, or must look for it. */
  readonly isOurs: boolean;
  cpuMs: number[];
  cpuMeansAbove: number;
  limitTimer: NodeJS.Timeout | undefined;
}

/** Child agents: started, looked after, limited and ended; adopted from a server that died. */
export class Children implements ChildGate {
  readonly changes = new Changes();
  readonly #options: ChildrenOptions;
  readonly #live = new Map<string, Live>();
  readonly #byToken = new Map<string, string>();
  readonly #queue = new KeyedQueue();
  #starts: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lastSecond = 0;
  #lastBeat = 0;
  #looking: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /** Takes over what a server that died left behind, and begins to look after children. */
  async open(): Promise<void> {
    await this.#beat().catch((cause: unknown) => this.#failed('heartbeat', cause));
    await this.#adopt().catch((cause: unknown) => this.#failed('adopt', cause));
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, LOOK_MS);
    this.#timer.unref();
  }

  /** Ends all children that this server looks after. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#looking;
    const ids = [...this.#live.keys()];
    await Promise.all(
      ids.map((id) =>
        this.#end(id, 'server_stop', this.#options.graceMs).catch((cause: unknown) => this.#failed('stop', cause)),
      ),
    );
    await this.#options.store.children
      .farewell(this.#options.instanceId)
      .catch((cause: unknown) => this.#failed('farewell', cause));
  }

  async create(
    input: ChildInput & { readonly start?: boolean | undefined },
    hints: Hints,
    caller: Caller,
  ): Promise<Manifest> {
    const childId = input.child_id ?? this.#options.newId();
    return this.#queue.run(childId, async () => {
      const record = await this.#insert(childId, input, hints, caller, null);
      return this.#shown(input.start === false ? record : await this.#start(record));
    });
  }

  /** Makes a child from its manifest file, or starts one that was made before or has ended. */
  async spawn(input: SpawnInput, caller: Caller): Promise<Manifest> {
    const { child_id: childId, manifest_path: path, role, limits, child_id_hint, ...rest } = input;
    const hints: Hints = { ...rest, child_id: child_id_hint };
    return this.#queue.run(childId, async () => {
      const known = await this.#options.store.children.get(childId);
      if (known !== null && isActive(known)) throw stateError(known);
      const file = this.#readManifest(path);
      if (file === null && known === null)
        throw new PrunerError('E-CHILD-MANIFEST', { manifest_path: path, reason: 'there is no such file' });
      if (known === null) {
        const { role: fileRole, limits: fileLimits, ...spec } = file ?? {};
        const made = { ...spec, role: role ?? fileRole, limits: { ...fileLimits, ...limits } };
        return this.#shown(await this.#start(await this.#insert(childId, made, hints, caller, path)));
      }
      const spec = file === null ? undefined : this.#checkedSpec(file);
      const given = Object.fromEntries(
        Object.entries(correlationOf(hints, caller)).filter(([, value]) => value !== null),
      );
      const changed = changedLimits(known.limits as Limits, { ...file?.limits, ...limits }, this.#options.ceilings);
      const updated = await this.#update(childId, (record) => ({
        record: {
          ...record,
          ...(spec && {
            agent: spec.agent ?? null,
            command: spec.command ?? null,
            metadata: file?.metadata ?? record.metadata,
          }),
          role: role ?? file?.role ?? record.role,
          manifestPath: path,
          limits: changed,
          limitsUnenforced: unenforced(changed, this.#options.processes.canLook),
          correlation: { ...record.correlation, ...given },
        },
        ...(spec && { spec: { ...spec } }),
      }));
      return this.#shown(await this.#start(updated));
    });
  }

  async attach(childId: string, hints: Hints): Promise<Manifest> {
    const given = Object.fromEntries(
      Object.entries({ runId: hints.run_id, opId: hints.op_id }).filter(([, value]) => value !== undefined),
    );
    const updated = await this.#update(childId, (record, nowMs) => {
      const next = { ...record, attachedMs: nowMs, correlation: { ...record.correlation, ...given } };
      return { record: next, events: [childEvent('child_attached', next, {})], logs: [meta('attached')] };
    });
    return this.#shown(updated);
  }

  async setRole(childId: string, role: string, hints: Hints): Promise<Manifest> {
    const updated = await this.#update(childId, (record) => {
      const next = { ...record, role, correlation: withHints(record, hints) };
      return { record: next, events: [childEvent('child_role_set', next, {})], logs: [meta('role set')] };
    });
    return this.#shown(updated);
  }

  async setLimits(childId: string, limits: LimitChanges, hints: Hints): Promise<Manifest> {
    const known = await this.#get(childId);
    const changed = changedLimits(known.limits as Limits, limits, this.#options.ceilings);
    const updated = await this.#update(childId, (record) => {
      const next = {
        ...record,
        limits: changed,
        limitsUnenforced: unenforced(changed, this.#options.processes.canLook),
        limitsTold: record.limitsTold.filter((key) => !(key in limits)),
        correlation: withHints(record, hints),
      };
      return {
        record: next,
        events: [childEvent('child_limits_set', next, { limits: changed })],
        logs: [meta('limits set')],
      };
    });
    return this.#shown(updated);
  }

  async status(childId: string, waitMs: number, signal: AbortSignal): Promise<Manifest> {
    const record = await this.#untilEnded(childId, waitMs, signal);
    return this.#shown(record);
  }

  async list(state: ChildState | undefined, limit: number): Promise<{ readonly children: readonly Manifest[] }> {
    const records = await this.#options.store.children.list({ ...(state && { state }), limit });
    return { children: records.map((record) => this.#shown(record)) };
  }

  /** Children that are at work, for the contract net. */
  async running(): Promise<readonly ChildRecord[]> {
    return this.#options.store.children.list({ state: 'running', limit: MAX_RECORDS });
  }

  /**
   * Ends a child and waits until it is gone.
   *
   * @param told - `reason` becomes the `stop_reason`; `why` are the caller's words, kept in the log
   */
  async cancel(
    childId: string,
    timeoutMs: number | undefined,
    { reason = 'cancelled', why }: { readonly reason?: string; readonly why?: string | undefined } = {},
  ): Promise<Manifest> {
    await this.#get(childId);
    return this.#shown(await this.#end(childId, reason, timeoutMs ?? this.#options.graceMs, why));
  }

  async kill(childId: string): Promise<Manifest> {
    await this.#get(childId);
    return this.#shown(await this.#end(childId, 'killed', 0));
  }

  async collect(childId: string): Promise<{ readonly child_id: string; readonly removed: true }> {
    const record = await this.#get(childId);
    if (isActive(record)) throw stateError(record);
    await this.#options.store.children.remove(childId, [childEvent('child_removed', record, {})]);
    this.#forget(childId);
    rmSync(this.#folderOf(childId), { recursive: true, force: true });
    return { child_id: childId, removed: true };
  }

  /** @throws PrunerError `E-CHILD-LIMIT` when so many more cannot run */
  async checkRoom(more: number): Promise<void> {
    const open = await this.#options.store.children.list({ open: true, limit: MAX_RECORDS });
    const { maxChildren } = this.#options;
    if (open.length + more > maxChildren)
      throw new PrunerError('E-CHILD-LIMIT', { allowed: maxChildren, running: open.length });
  }

  async admit(token: string) {
    const hash = hashToken(token);
    const known = this.#byToken.get(hash);
    if (known !== undefined) return { childId: known };
    const record = await this.#options.store.children.byToken(hash);
    if (record === null) return 'child_unknown' as const;
    return isActive(record) ? { childId: record.childId } : ('child_ended' as const);
  }

  async reserve(childId: string): Promise<string | null> {
    let refused: { readonly key: string; readonly isFirst: boolean } | null = null;
    try {
      await this.#update(childId, (record) => {
        const key = forbids(record);
        if (key === null) {
          refused = null;
          return { record: { ...record, usage: { ...record.usage, messages: record.usage.messages + 1 } } };
        }
        refused = { key, isFirst: !record.limitsTold.includes(key) };
        return refused.isFirst ? limitTold(record, key) : null;
      });
    } catch (cause) {
      this.#failed('limits', cause); // the request goes on: an agent must not fail for our store
      return null;
    }
    const { key } = (refused ?? { key: null }) as { readonly key: string | null };
    if (key !== null) this.#endLater(childId, key);
    return key;
  }

  async settle(childId: string, told: ChildRequestUsage): Promise<void> {
    const { tokensIn, tokensOut } = told;
    if (tokensIn + tokensOut === 0) return; // it was refused
    const cost = this.#options.costOf(told);
    await this.#update(childId, (record) => {
      const { usage } = record;
      return {
        record: {
          ...record,
          usage: {
            ...usage,
            tokensIn: usage.tokensIn + tokensIn,
            tokensOut: usage.tokensOut + tokensOut,
            costUsd: cost === null ? usage.costUsd : (usage.costUsd ?? 0) + cost,
          },
          limitsUnenforced: cost === null ? withoutPrice(record) : record.limitsUnenforced,
        },
      };
    }).catch((cause: unknown) => this.#failed('usage', cause));
  }

  async #insert(
    childId: string,
    input: ChildInput,
    hints: Hints,
    caller: Caller,
    manifestPath: string | null,
  ): Promise<ChildRecord> {
    const { store, clock, ceilings, instanceId, processes } = this.#options;
    const spec = this.#checkedSpec(input);
    const limits = changedLimits(defaultLimits(ceilings), input.limits ?? {}, ceilings);
    const record: ChildRecord = {
      childId,
      state: 'created',
      agent: input.agent ?? null,
      command: input.command ?? null,
      role: input.role ?? null,
      limits: limits as Record<string, number>,
      limitsUnenforced: unenforced(limits, processes.canLook),
      metadata: input.metadata ?? {},
      correlation: correlationOf(hints, caller),
      workdir: null,
      manifestPath,
      tokenHash: null,
      instanceId,
      pid: null,
      processStart: null,
      createdMs: Math.trunc(clock.nowMs()),
      startedMs: null,
      attachedMs: null,
      endedMs: null,
      exitCode: null,
      signal: null,
      stopReason: null,
      starts: 0,
      usage: { messages: 0, tokensIn: 0, tokensOut: 0, costUsd: null, wallclockMs: 0 },
      limitsTold: [],
    };
    const made = {
      record,
      spec: { ...spec },
      events: [childEvent('child_created', record, {})],
      logs: [meta('created')],
    };
    if (!(await store.children.insert(made, MAX_RECORDS)))
      throw new PrunerError('E-CHILD-EXISTS', { child_id: childId });
    return record;
  }

  /** @throws PrunerError `E-CHILD-COMMAND`, before anything is written */
  #checkedSpec({ agent, command, args, prompt, model, cwd, env }: ChildInput): StartSpec {
    const { places } = this.#options;
    const refuse = (reason: string): PrunerError => new PrunerError('E-CHILD-COMMAND', { reason });
    if ((agent === undefined) === (command === undefined)) throw refuse('exactly one of agent and command is needed');
    if (agent !== undefined && !places.allowsAgent(agent))
      throw refuse('this agent is not in MCP_PRUNER_CHILD_COMMANDS');
    if (command !== undefined) places.commandFile(command);
    places.folder(cwd);
    const reserved = Object.keys(env ?? {}).find((name) => !maySet(name));
    if (reserved !== undefined) throw refuse(`env must not set ${reserved}`);
    return { agent, command, args, prompt, model, cwd, env };
  }

  #readManifest(path: string): ChildInput | null {
    const text = this.#options.places.manifest(path, MAX_MANIFEST_BYTES);
    if (text === null) return null;
    const refuse = (reason: string): PrunerError =>
      new PrunerError('E-CHILD-MANIFEST', { manifest_path: path, reason });
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw refuse('it is no JSON');
    }
    const read = manifestShape.safeParse(value);
    if (!read.success) {
      const [issue] = read.error.issues;
      throw refuse(`${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'wrong shape'}`);
    }
    const { agent, command } = read.data;
    return { ...read.data, agent: agent ?? (command === undefined ? 'codex' : undefined) } as ChildInput;
  }

  async #start(made: ChildRecord): Promise<ChildRecord> {
    const { store, places, newToken, instanceId, maxChildren, processes, env, handedOn } = this.#options;
    const { childId } = made;
    if (this.#isClosed) throw new PrunerError('E-CHILD-START', { reason: 'the server is stopping' });
    this.#countStart();
    const spec = (await store.children.spec(childId)) as StartSpec | null;
    if (spec === null) throw new PrunerError('E-CHILD-NOT-FOUND', { child_id: childId });
    const cwd = places.folder(spec.cwd);
    const token = newToken();
    const address = { childId, token, url: `${this.#options.url()}/child/${token}` };
    const folder = this.#freshFolder(childId);
    const launch = this.#launch(spec, address, folder);
    let tooMany = false;
    const starting = await this.#update(childId, (record, nowMs, active) => {
      tooMany = active >= maxChildren;
      if (tooMany) return null;
      const next: ChildRecord = {
        ...record,
        ...{ state: 'starting', tokenHash: hashToken(token), instanceId, workdir: cwd, starts: record.starts + 1 },
        ...{
          startedMs: nowMs,
          endedMs: null,
          exitCode: null,
          signal: null,
          stopReason: null,
          pid: null,
          processStart: null,
        },
      };
      return { record: next, logs: [meta('starting')] };
    });
    if (tooMany) {
      if (made.starts === 0) await store.children.remove(childId, []);
      throw new PrunerError('E-CHILD-LIMIT', { allowed: maxChildren });
    }
    const secrets = [token, ...secretsOf(env), ...secretsOf(spec.env ?? {})];
    const live = this.#watch(starting, folder, secrets, { stdout: 0, stderr: 0 }, true);
    try {
      const started = await processes.start({
        file: launch.file,
        args: launch.args,
        cwd,
        env: childEnvironment(env, handedOn, launch.env, spec.env ?? {}, address),
        stdout: join(folder, 'stdout'),
        stderr: join(folder, 'stderr'),
        stdin: launch.stdin,
      });
      const running = await this.#update(childId, (record) => {
        const next: ChildRecord = {
          ...record,
          state: 'running',
          pid: started.pid,
          processStart: processes.startOf(started.pid),
        };
        const payload = { pid: started.pid, starts: record.starts };
        return {
          record: next,
          events: [childEvent('child_started', next, payload)],
          logs: [meta(`started, pid ${started.pid}`)],
        };
      });
      void started.ended.then((end) => this.#ended(live, end.exitCode, end.signal));
      return running;
    } catch (cause) {
      await this.#ended(live, null, null, 'error');
      const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it could not be started';
      throw new PrunerError('E-CHILD-START', { child_id: childId, reason }, { cause });
    }
  }

  #launch(spec: StartSpec, address: { readonly url: string; readonly token: string }, folder: string) {
    const { places, launch } = this.#options;
    const { agent, command, args = [], prompt = '', model = null } = spec;
    if (command !== undefined) {
      const stdin = prompt === '' ? null : join(folder, 'prompt');
      if (stdin !== null) writeFileSync(stdin, prompt, { mode: 0o600 });
      return { file: places.commandFile(command), args, env: {}, stdin };
    }
    const wired = launch(agent ?? '', { ...address, prompt, model, folder });
    if (wired === null) throw new PrunerError('E-CHILD-COMMAND', { reason: `no agent is named ${agent}` });
    for (const { name, text } of wired.files) writeFileSync(join(folder, name), text, { mode: 0o600 });
    return { file: places.agentFile(wired.command), args: [...wired.args, ...args], env: wired.env, stdin: null };
  }

  #countStart(): void {
    const nowMs = performance.now();
    this.#starts = this.#starts.filter((atMs) => atMs > nowMs - 60_000);
    const [oldest] = this.#starts;
    if (this.#starts.length >= STARTS_PER_MINUTE && oldest !== undefined) {
      throw new PrunerError('E-FLEET-RATE', { retry_after_ms: Math.ceil(oldest + 60_000 - nowMs) });
    }
    this.#starts.push(nowMs);
  }

  #watch(
    record: ChildRecord,
    folder: string,
    secrets: readonly string[],
    positions: { readonly stdout: number; readonly stderr: number },
    isOurs: boolean,
  ): Live {
    const { tokenHash } = record;
    const readers = (['stdout', 'stderr'] as const).map(
      (stream) =>
        new OutputReader({ file: join(folder, stream), stream, position: positions[stream], secrets, tokenHash }),
    );
    this.#forget(record.childId);
    const live: Live = { record, readers, isOurs, cpuMs: [], cpuMeansAbove: 0, limitTimer: undefined };
    this.#live.set(record.childId, live);
    if (tokenHash !== null) this.#byToken.set(tokenHash, record.childId);
    return live;
  }

  #forget(childId: string): void {
    const live = this.#live.get(childId);
    clearTimeout(live?.limitTimer);
    if (live?.record.tokenHash) this.#byToken.delete(live.record.tokenHash);
    this.#live.delete(childId);
  }

  /** Writes the end of a process that this server looked after. */
  async #ended(live: Live, exitCode: number | null, signal: string | null, state?: ChildState): Promise<void> {
    const { childId } = live.record;
    if (this.#live.get(childId) !== live) return;
    await this.#readOutput(live, true).catch((cause: unknown) => this.#failed('output', cause));
    this.#forget(childId);
    await this.#update(childId, (record, nowMs) => {
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
    }).catch((cause: unknown) => this.#failed('end', cause));
    rmSync(join(this.#folderOf(childId), 'prompt'), { force: true });
    this.changes.tell();
  }

  /** Tells a child to end, makes it end after the grace, and waits until it is gone. */
  async #end(childId: string, reason: string, graceMs: number, why?: string): Promise<ChildRecord> {
    const { processes } = this.#options;
    const record = await this.#update(childId, (found) => {
      if (found.state !== 'starting' && found.state !== 'running') return null;
      const next: ChildRecord = { ...found, state: 'stopping', stopReason: found.stopReason ?? reason };
      return { record: next, logs: [meta(`stopping: ${reason}${why === undefined ? '' : ` (${why})`}`)] };
    });
    const { pid, processStart } = record;
    if (!isActive(record)) return record;
    const isThere = (): boolean => pid !== null && processes.startOf(pid) === processStart;
    const signalled = (signal: NodeJS.Signals): void => {
      // what a head that has ended left behind is still in its group
      if (pid !== null && (isThere() || this.#live.get(childId)?.isOurs === true)) processes.signal(pid, signal);
    };
    if (graceMs > 0) {
      signalled('SIGTERM');
      const ended = await this.#untilEnded(childId, graceMs, NEVER);
      if (pid !== null && hasEnded(ended)) processes.signal(pid, 'SIGKILL'); // those it had started
      if (hasEnded(ended)) return ended;
    }
    signalled('SIGKILL');
    return this.#untilEnded(childId, KILL_WAIT_MS, NEVER);
  }

  async #untilEnded(childId: string, waitMs: number, signal: AbortSignal): Promise<ChildRecord> {
    const endMs = performance.now() + waitMs;
    for (;;) {
      const record = await this.#get(childId);
      const leftMs = endMs - performance.now();
      if (!isActive(record) || leftMs <= 0 || signal.aborted) return record;
      if (this.#isClosed) await this.#lookFor(childId);
      await this.changes.next(Math.min(leftMs, LOOK_MS / 2), signal);
    }
  }

  /** One round of looking after all children. */
  async #look(): Promise<void> {
    const nowMs = performance.now();
    const isSecond = nowMs - this.#lastSecond >= SECOND_MS;
    if (isSecond) this.#lastSecond = nowMs;
    for (const [childId, live] of [...this.#live]) {
      await this.#readOutput(live, false).catch((cause: unknown) => this.#failed('output', cause));
      await this.#lookFor(childId).catch((cause: unknown) => this.#failed('look', cause));
      if (isSecond) await this.#checkLoad(live).catch((cause: unknown) => this.#failed('limits', cause));
    }
    if (nowMs - this.#lastBeat < HEARTBEAT_MS) return;
    this.#lastBeat = nowMs;
    await this.#beat().catch((cause: unknown) => this.#failed('heartbeat', cause));
    await this.#adopt().catch((cause: unknown) => this.#failed('adopt', cause));
    await this.#collectOld().catch((cause: unknown) => this.#failed('collect', cause));
  }

  /** Whether a child that was adopted is still there. */
  async #lookFor(childId: string): Promise<void> {
    const live = this.#live.get(childId);
    if (!live || live.isOurs) return;
    const { pid, processStart } = live.record;
    if (pid === null || this.#options.processes.startOf(pid) !== processStart) await this.#ended(live, null, null);
  }

  async #readOutput(live: Live, isLast: boolean): Promise<void> {
    const { store, clock } = this.#options;
    for (let again = true; again; ) {
      const reads = live.readers.map((reader) => reader.read(clock.nowMs(), isLast));
      const lines = reads.flatMap((read) => read.lines);
      const [stdout = 0, stderr = 0] = reads.map(({ position }) => position);
      if (lines.length > 0) await store.children.addOutput(live.record.childId, lines, { stdout, stderr });
      again = reads.some(({ isMore }) => isMore);
    }
  }

  async #checkLoad(live: Live): Promise<void> {
    const { processes, clock } = this.#options;
    const record = await this.#options.store.children.get(live.record.childId);
    if (record === null || record.state !== 'running' || record.pid === null) return;
    const limits = record.limits as Limits;
    const over = forbids(record);
    // refused by whichever server its request came to
    if (over !== null && record.limitsTold.includes(over)) this.#endLater(record.childId, over);
    const ranMs = clock.nowMs() - (record.startedMs ?? clock.nowMs());
    if (limits.wallclock_ms !== undefined && ranMs > limits.wallclock_ms)
      return this.#exceeded(record, 'wallclock_ms', ranMs);
    if (limits.memory_mb === undefined && limits.cpu_percent === undefined) return;
    const load = processes.load(record.pid);
    if (load === null) return;
    if (limits.memory_mb !== undefined && load.memoryMb > limits.memory_mb) {
      return this.#exceeded(record, 'memory_mb', load.memoryMb);
    }
    if (limits.cpu_percent === undefined) return;
    live.cpuMs.push(load.cpuMs);
    if (live.cpuMs.length <= CPU_WINDOW_S) return;
    const [first = 0] = live.cpuMs;
    const percent = ((load.cpuMs - first) / (CPU_WINDOW_S * SECOND_MS)) * 100;
    live.cpuMs = [load.cpuMs];
    live.cpuMeansAbove = percent > limits.cpu_percent ? live.cpuMeansAbove + 1 : 0;
    if (live.cpuMeansAbove >= CPU_MEANS) await this.#exceeded(record, 'cpu_percent', percent);
  }

  async #exceeded({ childId }: ChildRecord, key: string, used: number): Promise<void> {
    await this.#update(childId, (record) =>
      record.limitsTold.includes(key) ? null : limitTold(record, key, Math.round(used)),
    );
    void this.#end(childId, `limit:${key}`, this.#options.graceMs).catch((cause: unknown) =>
      this.#failed('limits', cause),
    );
  }

  /** A child whose request was refused may end by itself first. */
  #endLater(childId: string, key: string): void {
    const live = this.#live.get(childId);
    if (!live || live.limitTimer !== undefined) return;
    live.limitTimer = setTimeout(() => {
      if (this.#live.get(childId) !== live) return;
      void this.#end(childId, `limit:${key}`, this.#options.graceMs).catch((cause: unknown) =>
        this.#failed('limits', cause),
      );
    }, this.#options.graceMs).unref();
  }

  /** Takes over children whose server is gone. */
  async #adopt(): Promise<void> {
    const { store, clock, instanceId, processes, env } = this.#options;
    const open = await store.children.list({ open: true, limit: MAX_RECORDS });
    const orphans = open.filter((record) => record.instanceId !== instanceId);
    if (orphans.length === 0) return;
    const alive = await store.children.aliveSince(Math.trunc(clock.nowMs()) - STALE_MS);
    for (const { childId, instanceId: owner } of orphans) {
      const ownerPid = alive.get(owner);
      if (ownerPid !== undefined && processes.startOf(ownerPid) !== null) continue;
      const adopted = await this.#update(childId, (record, nowMs) => {
        if (record.instanceId !== owner || !isActive(record)) return null;
        const pid =
          record.pid ?? processes.findByEnvironment(TOKEN_VARIABLE, (token) => hashToken(token) === record.tokenHash);
        const start = pid === null ? null : processes.startOf(pid);
        const isSame = start !== null && (record.pid === null || start === record.processStart);
        if (!isSame) {
          const lost: ChildRecord = { ...record, instanceId, state: 'lost', endedMs: nowMs };
          return { record: lost, events: [childEvent('child_lost', lost, {}, 'warn')], logs: [meta('lost')] };
        }
        const next: ChildRecord = { ...record, instanceId, pid, processStart: start, state: 'running' };
        return { record: next, events: [childEvent('child_adopted', next, { pid })], logs: [meta('adopted')] };
      });
      if (adopted.instanceId !== instanceId || adopted.state !== 'running') continue;
      const spec = (await store.children.spec(childId)) as StartSpec | null;
      const secrets = [...secretsOf(env), ...secretsOf(spec?.env ?? {})];
      this.#watch(adopted, this.#folderOf(childId), secrets, await store.children.positions(childId), false);
    }
  }

  async #collectOld(): Promise<void> {
    const { store, clock } = this.#options;
    for (const childId of await store.children.endedBefore(Math.trunc(clock.nowMs()) - KEPT_MS))
      await this.collect(childId);
  }

  #beat(): Promise<void> {
    const { store, instanceId, pid, url } = this.#options;
    return store.children.heartbeat({ instanceId, pid, url: url() });
  }

  async #get(childId: string): Promise<ChildRecord> {
    const record = await this.#options.store.children.get(childId);
    if (record === null) throw new PrunerError('E-CHILD-NOT-FOUND', { child_id: childId });
    return record;
  }

  async #update(
    childId: string,
    change: (record: ChildRecord, nowMs: number, active: number) => ChildChange | null,
  ): Promise<ChildRecord> {
    const { store } = this.#options;
    const record = await store.children.update(childId, (found, active, nowMs) => change(found, nowMs, active));
    if (record === null) throw new PrunerError('E-CHILD-NOT-FOUND', { child_id: childId });
    const live = this.#live.get(childId);
    if (live) live.record = record;
    this.changes.tell();
    return record;
  }

  #shown(record: ChildRecord): Manifest {
    return manifestOf(record, Math.trunc(this.#options.clock.nowMs()));
  }

  #folderOf(childId: string): string {
    return join(this.#options.folder, createHash('sha256').update(childId).digest('hex').slice(0, 32));
  }

  /** An empty folder that only its owner can enter. */
  #freshFolder(childId: string): string {
    const folder = this.#folderOf(childId);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    for (const stream of ['stdout', 'stderr']) writeFileSync(join(folder, stream), '', { mode: 0o600 });
    return folder;
  }

  #failed(what: string, cause: unknown): void {
    this.#options.onFailure(what, cause);
  }
}

const TOKEN_VARIABLE = 'MCP_PRUNER_CHILD_TOKEN';
const KILL_WAIT_MS = 5_000;
const NEVER = new AbortController().signal;

function meta(message: string): ChildLogLine {
  return { stream: 'meta', message, parsed: null };
}

function childEvent(
  kind: string,
  { childId, correlation }: ChildRecord,
  payload: Readonly<Record<string, unknown>>,
  level: 'info' | 'warn' = 'info',
) {
  return eventOf(kind, { ...correlation, childId }, payload, level);
}

function limitTold(record: ChildRecord, key: string, used?: number): ChildChange {
  const { usage, limits } = record;
  const ofUsage = { messages: usage.messages, cost_usd: usage.costUsd ?? 0 };
  const counted = used ?? ofUsage[key as keyof typeof ofUsage] ?? usage.tokensIn + usage.tokensOut;
  const next = { ...record, limitsTold: [...record.limitsTold, key] };
  const payload = { limit: key, allowed: limits[key], used: counted };
  return {
    record: next,
    events: [childEvent('child_limit_exceeded', next, payload, 'warn')],
    logs: [meta(`limit reached: ${key}`)],
  };
}

/** A limit of cost that a request without a price has passed by. */
function withoutPrice({ limits, limitsUnenforced }: ChildRecord): readonly string[] {
  const isKept = limits.cost_usd === undefined || limitsUnenforced.includes('cost_usd');
  return isKept ? limitsUnenforced : [...limitsUnenforced, 'cost_usd'];
}

function withHints(record: ChildRecord, { run_id, op_id }: Hints): ChildRecord['correlation'] {
  return {
    ...record.correlation,
    ...(run_id !== undefined && { runId: run_id }),
    ...(op_id !== undefined && { opId: op_id }),
  };
}

function stateError({ childId, state }: ChildRecord): PrunerError {
  return new PrunerError('E-CHILD-STATE', { child_id: childId, state });
}

const limitsShape = z.strictObject({
  messages: z.int().min(0).optional(),
  tokens: z.int().min(0).optional(),
  cost_usd: z.number().positive().optional(),
  wallclock_ms: z.int().positive().optional(),
  memory_mb: z.int().positive().optional(),
  cpu_percent: z.number().min(1).optional(),
});

/** The file behind `manifest_path`. */
const manifestShape = z.strictObject({
  agent: z.string().min(1).max(200).optional(),
  command: z.string().min(1).max(4096).optional(),
  args: z.array(z.string().max(32_768)).max(64).optional(),
  prompt: z.string().optional(),
  model: z.string().min(1).max(200).optional(),
  cwd: z.string().min(1).max(4096).optional(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).optional(),
  role: z.string().min(1).max(120).optional(),
  limits: limitsShape.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});
