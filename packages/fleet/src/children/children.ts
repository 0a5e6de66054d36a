import { parsed } from 'mcp-pruner/wires/json/value.ts';
import { z } from 'zod';
import { FleetError } from '../errors.ts';
import { type Caller, type ChildRecord, type ChildState, correlationOf, type Hints } from '../ports.ts';
import { KeyedQueue } from '../queue.ts';
import { ChildFolders } from './folders.ts';
import { childFields, type spawnInput } from './input.ts';
import { Keeper } from './keeper.ts';
import { changedLimits, defaultLimits, type LimitChanges, type Limits, unenforced } from './limits.ts';
import type { Places } from './places.ts';
import { ChildRecords, childEvent, meta, stateError } from './records.ts';
import { RequestGate } from './request-gate.ts';
import { type ChildInput, type ChildrenOptions, isActive, MAX_RECORDS, type Manifest, manifestOf } from './spec.ts';
import { Starter } from './starter.ts';

const MAX_BYTES = 64 * 1024;
const DEFAULT_AGENT = 'codex';
const shape = z.strictObject(childFields);

/**
 * @returns `null` if the file does not exist
 * @throws FleetError `E-CHILD-MANIFEST`
 */
function readManifestFile(places: Places, path: string): ChildInput | null {
  const text = places.manifest(path, MAX_BYTES);
  if (text === null) return null;
  const refuse = (reason: string): FleetError => new FleetError('E-CHILD-MANIFEST', { manifest_path: path, reason });
  const value = parsed(text);
  if (value === undefined) throw refuse('it is not JSON');
  const read = shape.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw refuse(`${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'wrong shape'}`);
  }
  const { agent, command } = read.data;
  return { ...read.data, agent: agent ?? (command === undefined ? DEFAULT_AGENT : undefined) };
}

export class Children {
  readonly gate: RequestGate;
  readonly #options: ChildrenOptions;
  readonly #records: ChildRecords;
  readonly #folders: ChildFolders;
  readonly #keeper: Keeper;
  readonly #starter: Starter;
  readonly #queue = new KeyedQueue();

  constructor(options: ChildrenOptions) {
    const { store, costOf, onFailure, folder } = options;
    this.#options = options;
    this.#records = new ChildRecords(store.children);
    this.#folders = new ChildFolders(folder);
    const keeper = new Keeper(options, this.#records, this.#folders);
    this.#keeper = keeper;
    this.#starter = new Starter(options, this.#records, this.#folders, keeper);
    this.gate = new RequestGate({
      ...{ store: store.children, records: this.#records, costOf, onFailure },
      knownBy: (tokenHash) => keeper.knownBy(tokenHash),
      onRefused: (childId, limit) => keeper.endLater(childId, limit),
    });
  }

  open(): Promise<void> {
    return this.#keeper.open((childId) => this.collect(childId));
  }

  close(): Promise<void> {
    return this.#keeper.close();
  }

  async create(
    input: ChildInput & { readonly start?: boolean | undefined },
    hints: Hints,
    caller: Caller,
  ): Promise<Manifest> {
    const childId = input.child_id ?? this.#options.newId();
    return this.#queue.run(childId, async () => {
      const record = await this.#insert(childId, input, hints, caller, null);
      return this.#shown(input.start === false ? record : await this.#starter.start(record));
    });
  }

  /** Starts a new child from its manifest, or an existing one that is not running. */
  async spawn(input: z.infer<typeof spawnInput>, caller: Caller): Promise<Manifest> {
    const { child_id: childId, manifest_path: path, role, limits, child_id_hint, ...rest } = input;
    const hints: Hints = { ...rest, child_id: child_id_hint };
    return this.#queue.run(childId, async () => {
      const known = await this.#options.store.children.get(childId);
      if (known !== null && isActive(known)) throw stateError(known);
      const file = readManifestFile(this.#options.places, path);
      if (file === null && known === null)
        throw new FleetError('E-CHILD-MANIFEST', { manifest_path: path, reason: 'there is no such file' });
      if (known === null) {
        const { role: fileRole, limits: fileLimits, ...spec } = file ?? {};
        const made = { ...spec, role: role ?? fileRole, limits: { ...fileLimits, ...limits } };
        return this.#shown(await this.#starter.start(await this.#insert(childId, made, hints, caller, path)));
      }
      const spec = file === null ? undefined : this.#starter.checked(file);
      const given = Object.fromEntries(
        Object.entries(correlationOf(hints, caller)).filter(([, value]) => value !== null),
      );
      const changed = changedLimits(known.limits as Limits, { ...file?.limits, ...limits }, this.#options.ceilings);
      const updated = await this.#records.update(childId, (record) => ({
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
      return this.#shown(await this.#starter.start(updated));
    });
  }

  async attach(childId: string, hints: Hints): Promise<Manifest> {
    const updated = await this.#records.update(childId, (record, nowMs) => {
      const next = { ...record, attachedMs: nowMs, correlation: withHints(record, hints) };
      return { record: next, events: [childEvent('child_attached', next, {})], logs: [meta('attached')] };
    });
    return this.#shown(updated);
  }

  async setRole(childId: string, role: string, hints: Hints): Promise<Manifest> {
    const updated = await this.#records.update(childId, (record) => {
      const next = { ...record, role, correlation: withHints(record, hints) };
      return { record: next, events: [childEvent('child_role_set', next, {})], logs: [meta('role set')] };
    });
    return this.#shown(updated);
  }

  async setLimits(childId: string, limits: LimitChanges, hints: Hints): Promise<Manifest> {
    const known = await this.#records.get(childId);
    const changed = changedLimits(known.limits as Limits, limits, this.#options.ceilings);
    const updated = await this.#records.update(childId, (record) => {
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
    const record = await this.#keeper.untilEnded(childId, waitMs, signal);
    return this.#shown(record);
  }

  async list(state: ChildState | undefined, limit: number): Promise<{ readonly children: readonly Manifest[] }> {
    const records = await this.#options.store.children.list({ state, limit });
    return { children: records.map((record) => this.#shown(record)) };
  }

  /**
   * Ends a child and waits until its processes are gone.
   *
   * @param told - `reason` becomes the `stop_reason`; `why`, the caller's words, is written to the child's log
   */
  async cancel(
    childId: string,
    timeoutMs: number | undefined,
    { reason = 'cancelled', why }: { readonly reason?: string; readonly why?: string | undefined } = {},
  ): Promise<Manifest> {
    await this.#records.get(childId);
    return this.#shown(await this.#keeper.end(childId, reason, timeoutMs ?? this.#options.graceMs, why));
  }

  async kill(childId: string): Promise<Manifest> {
    await this.#records.get(childId);
    return this.#shown(await this.#keeper.end(childId, 'killed', 0));
  }

  async collect(childId: string): Promise<{ readonly child_id: string; readonly removed: true }> {
    const record = await this.#records.get(childId);
    if (isActive(record)) throw stateError(record);
    await this.#options.store.children.remove(childId, [childEvent('child_removed', record, {})]);
    this.#keeper.forget(childId);
    this.#folders.remove(childId);
    return { child_id: childId, removed: true };
  }

  /** @throws FleetError `E-CHILD-LIMIT` if `more` further children would exceed the limit */
  async checkRoom(more: number): Promise<void> {
    const open = await this.#options.store.children.list({ open: true, limit: MAX_RECORDS });
    const { maxChildren } = this.#options;
    if (open.length + more > maxChildren)
      throw new FleetError('E-CHILD-LIMIT', { allowed: maxChildren, running: open.length });
  }

  async #insert(
    childId: string,
    input: ChildInput,
    hints: Hints,
    caller: Caller,
    manifestPath: string | null,
  ): Promise<ChildRecord> {
    const { store, clock, ceilings, instanceId, processes } = this.#options;
    const spec = this.#starter.checked(input);
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
      throw new FleetError('E-CHILD-EXISTS', { child_id: childId });
    return record;
  }

  #shown(record: ChildRecord): Manifest {
    return manifestOf(record, Math.trunc(this.#options.clock.nowMs()));
  }
}

function withHints(record: ChildRecord, { run_id, op_id }: Hints): ChildRecord['correlation'] {
  const known = record.correlation;
  return { ...known, runId: run_id ?? known.runId, opId: op_id ?? known.opId };
}
