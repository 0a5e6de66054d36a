import { join } from 'node:path';
import { secretsOf } from '@mcp-pruner/agents/secrets.ts';
import { errorCode } from 'mcp-pruner/base/causes.ts';
import { FleetError } from '../errors.ts';
import type { ChildRecord } from '../ports.ts';
import { childEnvironment, type Environment, maySet } from './environment.ts';
import type { ChildFolders } from './folders.ts';
import type { Keeper } from './keeper.ts';
import { hashToken } from './output.ts';
import { type ChildRecords, childEvent, meta } from './records.ts';
import type { ChildInput, ChildrenOptions, StartSpec } from './spec.ts';

const MINUTE_MS = 60_000;
const STARTS_PER_MINUTE = 120;

interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly stdin: string | null;
}

/** Starts children. Requests are checked twice: on arrival, and when the process starts. */
export class Starter {
  readonly #options: ChildrenOptions;
  readonly #records: ChildRecords;
  readonly #folders: ChildFolders;
  readonly #keeper: Keeper;
  #starts: number[] = [];

  constructor(options: ChildrenOptions, records: ChildRecords, folders: ChildFolders, keeper: Keeper) {
    this.#options = options;
    this.#records = records;
    this.#folders = folders;
    this.#keeper = keeper;
  }

  /** Validates start parameters before anything is written. @throws FleetError `E-CHILD-COMMAND` */
  checked({ agent, command, args, prompt, model, cwd, env }: ChildInput): StartSpec {
    const { places } = this.#options;
    const refuse = (reason: string): FleetError => new FleetError('E-CHILD-COMMAND', { reason });
    if ((agent === undefined) === (command === undefined)) throw refuse('exactly one of agent and command is needed');
    if (agent !== undefined && !places.allowsAgent(agent))
      throw refuse('this agent is not in commands of MCP_PRUNER_CHILDREN');
    if (command !== undefined) places.commandFile(command);
    places.folder(cwd);
    this.#checkEnv(env);
    return { agent, command, args, prompt, model, cwd, env };
  }

  /**
   * Starts a child that already has a record.
   *
   * @returns its record once the process exists
   * @throws FleetError `E-CHILD-LIMIT`, `E-CHILD-START`, `E-CHILD-COMMAND`, `E-FLEET-RATE`
   */
  async start(made: ChildRecord): Promise<ChildRecord> {
    const { store, places, newToken, env } = this.#options;
    const { childId } = made;
    if (this.#keeper.isClosed) throw new FleetError('E-CHILD-START', { reason: 'the server is stopping' });
    this.#countStart();
    const spec = (await store.children.spec(childId)) as StartSpec | null;
    if (spec === null) throw new FleetError('E-CHILD-NOT-FOUND', { child_id: childId });
    const cwd = places.folder(spec.cwd);
    this.#checkEnv(spec.env); // may have been allowed by an earlier version or other settings
    const token = newToken();
    const address = { childId, token, url: `${this.#options.url()}/child/${token}` };
    const folder = this.#folders.fresh(childId);
    const launch = this.#launch(spec, address, folder);
    const starting = await this.#starting(made, token, cwd);
    const secrets = [token, ...secretsOf(env), ...secretsOf(spec.env ?? {})];
    const live = this.#keeper.watch(starting, secrets, { stdout: 0, stderr: 0 }, true);
    try {
      const { running, ended } = await this.#run(spec, launch, address, cwd, folder);
      void ended.then((end) => this.#keeper.ended(live, end.exitCode, end.signal));
      return running;
    } catch (cause) {
      await this.#keeper.ended(live, null, null, 'error');
      const reason = errorCode(cause) || 'it could not be started';
      throw new FleetError('E-CHILD-START', { child_id: childId, reason }, { cause });
    }
  }

  /** @throws FleetError `E-CHILD-COMMAND` */
  #checkEnv(env: StartSpec['env']): void {
    const refused = Object.keys(env ?? {}).find((name) => !maySet(name, this.#options.settable));
    if (refused === undefined) return;
    const reason = `env must not set ${refused}`;
    const hint = `${reason}: use a name that begins with MY_ or TASK_, or allow it with settable of MCP_PRUNER_CHILDREN.`;
    throw new FleetError('E-CHILD-COMMAND', { reason, hint });
  }

  async #starting(made: ChildRecord, token: string, workdir: string): Promise<ChildRecord> {
    const { store, instanceId, maxChildren } = this.#options;
    let tooMany = false;
    const starting = await this.#records.update(made.childId, (record, nowMs, active) => {
      tooMany = active >= maxChildren;
      if (tooMany) return null;
      const next: ChildRecord = {
        ...record,
        ...{ state: 'starting', tokenHash: hashToken(token), instanceId, workdir, starts: record.starts + 1 },
        ...{ startedMs: nowMs, endedMs: null, exitCode: null, signal: null, stopReason: null },
        ...{ pid: null, processStart: null },
      };
      return { record: next, logs: [meta('starting')] };
    });
    if (!tooMany) return starting;
    if (made.starts === 0) await store.children.remove(made.childId, []);
    throw new FleetError('E-CHILD-LIMIT', { allowed: maxChildren });
  }

  async #run(
    spec: StartSpec,
    launch: Launch,
    address: { readonly childId: string; readonly token: string; readonly url: string },
    cwd: string,
    folder: string,
  ) {
    const { processes, env, handedOn } = this.#options;
    const { pid, ended } = await processes.start({
      file: launch.file,
      args: launch.args,
      cwd,
      env: childEnvironment(env, handedOn, launch.env, spec.env ?? {}, address),
      stdout: join(folder, 'stdout'),
      stderr: join(folder, 'stderr'),
      stdin: launch.stdin,
    });
    const running = await this.#records.update(address.childId, (record) => {
      const next: ChildRecord = { ...record, state: 'running', pid, processStart: processes.startOf(pid) };
      const payload = { pid, starts: record.starts };
      return {
        record: next,
        events: [childEvent('child_started', next, payload)],
        logs: [meta(`started, pid ${pid}`)],
      };
    });
    return { running, ended };
  }

  #launch(spec: StartSpec, address: { readonly url: string; readonly token: string }, folder: string): Launch {
    const { places, launch } = this.#options;
    const { agent, command, args = [], prompt = '', model = null } = spec;
    if (command !== undefined) {
      const stdin = prompt === '' ? null : this.#folders.writePrompt(folder, prompt);
      return { file: places.commandFile(command), args, env: {}, stdin };
    }
    const wired = launch(agent ?? '', { ...address, prompt, model, folder });
    if (wired === null) throw new FleetError('E-CHILD-COMMAND', { reason: `no agent is named ${agent}` });
    for (const { name, text } of wired.files) this.#folders.write(folder, name, text);
    return { file: places.agentFile(wired.command), args: [...wired.args, ...args], env: wired.env, stdin: null };
  }

  #countStart(): void {
    const nowMs = performance.now();
    this.#starts = this.#starts.filter((atMs) => atMs > nowMs - MINUTE_MS);
    const [oldest] = this.#starts;
    if (this.#starts.length >= STARTS_PER_MINUTE && oldest !== undefined) {
      throw new FleetError('E-FLEET-RATE', { retry_after_ms: Math.ceil(oldest + MINUTE_MS - nowMs) });
    }
    this.#starts.push(nowMs);
  }
}
