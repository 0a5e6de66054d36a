import { setTimeout as pause } from 'node:timers/promises';

/** Answers of tools are read field by field. */
type Answer = ReturnType<typeof JSON.parse>;
type Call = (name: string, args: object) => Promise<Answer>;

/** Children that are left alive at once at the most. */
const MAX_ALIVE = 6;
const SETTLED_MS = 20_000;
const IDLE = ['-e', 'setInterval(() => {}, 1000)'];

/** What lives on while servers are killed: children and plans that they started, facts that run out. */
export class Lives {
  readonly counts = { children: 0, plans: 0, facts: 0 };
  readonly #mortal: Call;
  readonly #stays: Call;
  readonly #plans: string[] = [];

  /** @param mortal - calls the server that is killed; `stays` the other one */
  constructor(mortal: Call, stays: Call) {
    this.#mortal = mortal;
    this.#stays = stays;
  }

  /** Starts a child, and ends the oldest by the other server once there are many. */
  async child(n: number): Promise<void> {
    await this.#mortal('child_create', { child_id: `child ${n}`, command: process.execPath, args: IDLE });
    this.counts.children++;
    const { children } = await this.#stays('child_list', { state: 'running' });
    if (children.length > MAX_ALIVE) await this.#stays('child_kill', { child_id: children.at(-1).child_id });
    await pause(100);
  }

  async plan(): Promise<void> {
    const children = [5, 20, 40].map((ms, i) => ({ kind: 'task', node_id: `n${i}`, tool: 'wait', input: { ms } }));
    const tree = { id: 'soak', root: { kind: 'sequence', children } };
    const { run_id } = await this.#mortal('plan_run_bt', { tree, background: true });
    this.#plans.push(run_id);
    this.counts.plans++;
    await pause(50);
  }

  /** A fact that runs out, one that is deleted, and one that is replaced. */
  async fact(n: number): Promise<void> {
    await this.#mortal('bb_set', { key: `short:${n % 5}`, value: n, ttl_ms: 5 });
    await this.#stays('bb_set', { key: 'gone', value: n });
    await this.#mortal('bb_delete', { key: 'gone' });
    this.counts.facts++;
    await pause(10);
  }

  /** What must hold once all is quiet: records say what is, and nothing runs that nobody knows. */
  async inspect(): Promise<string[]> {
    const endMs = performance.now() + SETTLED_MS;
    for (;;) {
      const wrong = [...(await this.#wrongChildren()), ...(await this.#wrongPlans())];
      if (wrong.length === 0 || performance.now() > endMs) return wrong;
      await pause(250); // the server that stays hears of a death after some seconds
    }
  }

  /** Ends what still runs. */
  async end(): Promise<void> {
    const { children } = await this.#stays('child_list', { state: 'running', limit: 200 });
    for (const { child_id } of children) await this.#stays('child_kill', { child_id });
  }

  async #wrongChildren(): Promise<string[]> {
    const { children } = await this.#stays('child_list', { limit: 200 });
    return children.flatMap(({ child_id, state, pid }: Answer) => {
      if (state === 'starting' || state === 'stopping') return [`${child_id} is ${state} for ever`];
      if (pid === null) return state === 'running' ? [`${child_id} runs without a process`] : [];
      const lives = isThere(pid);
      return lives === (state === 'running')
        ? []
        : [`${child_id} is ${state}, its process ${lives ? 'lives' : 'does not'}`];
    });
  }

  async #wrongPlans(): Promise<string[]> {
    const wrong: string[] = [];
    for (const run_id of this.#plans) {
      const { state, reason } = await this.#stays('plan_status', { run_id });
      const isRight = state === 'done' || (state === 'failed' && reason === 'server_stopped');
      if (!isRight) wrong.push(`a plan is ${state} (${reason})`);
    }
    return wrong;
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
