import { lineAt, rawLine, splitLines } from '../../src/engine/text/lines.ts';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { Agent } from './agents.ts';
import { settingsOf } from './plan.ts';
import type { Target } from './target.ts';
import type { Break, Plan, Step } from './types.ts';
import { type CheckingUpstream, Correspondent, runName } from './upstream.ts';

/** The result of a plan. */
export interface Outcome {
  readonly requests: number;
  readonly sessions: number;
  /** Sent items that changed although they must not. */
  readonly breaks: readonly Break[];
  /** Items that changed where that only costs a cache miss, or was asked for. */
  readonly rewritten: number;
  /** Sessions that ended with an error. */
  readonly failed: readonly string[];
  /** Cut results whose lines were read back, and those that were not the original. */
  readonly recovered: number;
  readonly lost: readonly string[];
}

/** Runs one plan, step by step. The same plan has the same course. */
export class World {
  readonly #plan: Plan;
  readonly #target: Target;
  readonly #upstream: CheckingUpstream;
  readonly #agents: Agent[] = [];
  /** Ids of agents whose history nobody can know any more. */
  readonly #excused = new Set<string>();
  /** Context GC may have rewritten histories that nothing checks. */
  #collects = false;
  #settings: Record<string, string> = {};
  #unlock: (() => void) | null = null;
  #made = 0;

  constructor(plan: Plan, target: Target, upstream: CheckingUpstream) {
    this.#plan = plan;
    this.#target = target;
    this.#upstream = upstream;
  }

  async run(): Promise<Outcome> {
    // where one setting is examined, nothing else changes what is new
    const hasHeader =
      this.#target.isOurs &&
      this.#plan.only === undefined &&
      !this.#plan.steps.some(({ kind }) => kind === 'lose-store');
    const ground = { url: () => this.#target.url, hasHeader };
    await this.#target.start(this.#settings);
    for (const plan of this.#plan.agents) this.#agents.push(new Agent(plan, this.#correspondent(plan), ground));
    try {
      for (const step of this.#plan.steps) await this.#step(step);
      this.#unlock?.();
      await this.#restart('SIGTERM', {});
      return await this.#outcome();
    } finally {
      for (const agent of this.#agents) agent.close();
      await this.#target.stop('SIGKILL');
    }
  }

  #correspondent({ wire, model }: Plan['agents'][number]): Correspondent {
    const checks = wire === 'messages' || (wire === 'responses' && !model.startsWith('gpt-5'));
    const at = new Correspondent(runName(this.#plan.seed, this.#made++), wire, checks);
    this.#upstream.add(at);
    return at;
  }

  async #step({ kind, agent: index, seed }: Step): Promise<void> {
    const agent = this.#agents[index];
    if (agent === undefined) return;
    if (kind === 'turn') {
      await agent.turn(seed);
      this.#unlock?.();
      this.#unlock = null;
    } else if (kind === 'count') await agent.count();
    else if (kind === 'compact') await agent.compact(seed);
    else if (kind === 'fork') {
      const fork = agent.fork(this.#correspondent(agent.plan), seed);
      this.#agents.push(fork);
      for (let i = 0; i < 2; i++) await fork.turn(seed + i);
    } else if (kind === 'restart') await this.#restart('SIGTERM', this.#settings);
    else if (kind === 'kill') await this.#restart('SIGKILL', this.#settings);
    else if (kind === 'settings') await this.#restart('SIGTERM', settingsOf(seed, this.#plan.only));
    else if (kind === 'lock') this.#unlock = await this.#target.lock();
    else if (kind === 'stash') await this.#stash();
    else if (kind === 'lose-store') await this.#lose();
  }

  async #restart(signal: 'SIGTERM' | 'SIGKILL', settings: Record<string, string>): Promise<void> {
    if (!this.#target.isOurs) return;
    this.#unlock?.();
    this.#unlock = null;
    this.#settings = settings;
    this.#collects ||= 'MCP_PRUNER_CONTEXT_BUDGET_TOKENS' in settings || 'MCP_PRUNER_STASH_SEEN_AGAIN' in settings;
    for (const agent of this.#agents) agent.close();
    await this.#target.stop(signal);
    await this.#target.start(settings);
  }

  async #lose(): Promise<void> {
    for (const agent of this.#agents) agent.close();
    await this.#target.stop('SIGTERM');
    await this.#target.loseStore();
    await this.#target.start(this.#settings);
    // no error says on responses that the history was pruned, and a kept history is not sent again
    for (const { at, plan } of this.#agents)
      if (plan.wire !== 'messages' || plan.state === 'delta') this.#excused.add(at.id);
  }

  /** The user puts aside what context GC suggests. */
  async #stash(): Promise<void> {
    this.#collects = true;
    const analysis = await this.#call('context_gc_analyze', { project_id: 'default' });
    const candidates =
      (analysis as { pruning_candidates?: { segment_id?: string }[] } | null)?.pruning_candidates ?? [];
    const ids = candidates.flatMap(({ segment_id: id }) => id ?? []).slice(0, 5);
    if (ids.length > 0)
      await this.#call('context_gc_prune', { project_id: 'default', segment_ids: ids, action: 'stash' });
  }

  async #call(name: string, args: object): Promise<unknown> {
    const answer = await fetch(`${this.#target.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    const { result } = (await answer.json()) as { result?: { content?: [{ text: string }] } };
    const text = result?.content?.[0].text;
    return text === undefined ? null : JSON.parse(text);
  }

  async #outcome(): Promise<Outcome> {
    const breaks: Break[] = [];
    let rewritten = 0;
    for (const { at, plan } of this.#agents) {
      const mayChange = plan.wire === 'chat' || (!at.checks && this.#collects) || this.#excused.has(at.id);
      if (mayChange) rewritten += at.breaks.length;
      else breaks.push(...at.breaks);
    }
    const failed = this.#agents.flatMap(({ failed: why, at }) =>
      why !== '' && !this.#excused.has(at.id) ? `${at.id}: ${why}` : [],
    );
    const requests = this.#agents.reduce((sum, { at }) => sum + at.requests, 0);
    const { recovered, lost } = this.#target.isOurs ? await this.#recoverAll() : { recovered: 0, lost: [] };
    return { requests, sessions: this.#agents.length, breaks, rewritten, failed, recovered, lost };
  }

  /** Reads back the lines of every marker, and compares the results with the originals. */
  async #recoverAll(): Promise<{ recovered: number; lost: string[] }> {
    let recovered = 0;
    const lost: string[] = [];
    for (const { at, results } of this.#agents) {
      if (this.#excused.has(at.id)) continue;
      for (const [id, sent] of at.results) {
        const original = results.get(id);
        if (original === undefined || sent === original || !sent.includes('⟦PRUNÉ')) continue;
        recovered++;
        const whole = await this.#whole(sent);
        if (whole !== original) lost.push(`${at.id} ${id}: ${differenceAt(whole, original)}`);
      }
    }
    return { recovered, lost };
  }

  /** A forwarded text with the original lines in the place of its markers. */
  async #whole(text: string): Promise<string> {
    const lines = splitLines(text);
    let whole = '';
    let pruneId = '';
    for (let line = 1; line <= lines.count; line++) {
      const content = lineAt(lines, line);
      const marker = parseMarker(content);
      if (marker === null) whole += rawLine(lines, line);
      else {
        const id = marker.pruneId || pruneId;
        const ranges = [{ start_line: marker.startLine, end_line: marker.endLine }];
        const answer = await this.#call('recover_text', { prune_id: id, ranges, include_line_numbers: false });
        const lost = (answer as { raw_text?: string } | null)?.raw_text;
        if (lost !== undefined) pruneId = id;
        // a line of the original that only looks like a marker is not known
        whole += (lost ?? content) + rawLine(lines, line).slice(content.length);
      }
    }
    return whole;
  }
}

/** Where two texts differ, and how they go on there. */
function differenceAt(a: string, b: string): string {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return `at ${at}: ${JSON.stringify(a.slice(at, at + 60))}, not ${JSON.stringify(b.slice(at, at + 60))}`;
}
