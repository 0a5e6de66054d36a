import { chance, pause } from '../soak/chance.ts';
import type { Finding } from '../soak/stage.ts';
import { Conversation, numberOf } from './conversations.ts';
import { inspect } from './inspect.ts';
import { type Received, type Replica, startProvider, Team } from './stage.ts';
import { differences, Watcher } from './watchers.ts';

export interface RacePlan {
  readonly seed: number;
  readonly replicas: number;
  readonly conversations: number;
  readonly turns: number;
  /** Conversations that go on at the same time. */
  readonly atOnce: number;
  /** Longest pause between two kills, in milliseconds. */
  readonly killEveryMs: number;
}

/** The database that is raced on. */
export interface RaceDatabase {
  readonly url: string;
  /** Takes it away for a moment; called twice. */
  restart(time: number): Promise<void>;
  query<Row>(sql: string): Promise<Row[]>;
}

/** What the provider saw of each conversation, and what was wrong with it. */
export class Transcript {
  readonly wrong: string[] = [];
  readonly last = new Map<number, string>();
  /** All that was forwarded, by prune id: where its lines are from. */
  readonly markers = new Map<string, { readonly conversation: number; readonly from: number; readonly to: number }>();
  requests = 0;
  bytes = 0;

  note = ({ body }: Received): void => {
    const conversation = numberOf(body);
    const before = this.last.get(conversation) ?? '';
    this.requests++;
    this.bytes += body.length;
    if (body !== before && !body.startsWith(before.slice(0, -2))) {
      this.wrong.push(`conversation ${conversation}: what was sent before changed, ${firstDifference(before, body)}`);
    }
    this.last.set(conversation, body);
    for (const [, id = '', from, to] of body.matchAll(/prune_id=(prn_\w+) lignes (\d+)-(\d+)/g)) {
      this.markers.set(`${id} ${from}`, { conversation, from: Number(from), to: Number(to) });
    }
  };
}

function firstDifference(before: string, now: string): string {
  let at = 0;
  while (before[at] === now[at] && at < before.length) at++;
  const from = before.lastIndexOf('"content":', at);
  return `request ${from}: ${before.slice(at, at + 40)} => ${now.slice(at, at + 40)}`;
}

/** Agents that take their turns by whichever replica chance names. */
export class Agents {
  readonly #team: Team;
  readonly #random: () => number;
  readonly wrong: string[] = [];
  readonly conversations: Conversation[];
  turnsDone = 0;
  /** Of the turn that took longest, from its request to the end of its answer. */
  slowestMs = 0;
  again = 0;

  constructor(team: Team, { seed, conversations }: Pick<RacePlan, 'seed' | 'conversations'>) {
    this.#team = team;
    this.#random = chance(seed);
    this.conversations = Array.from({ length: conversations }, (_, i) => new Conversation(i));
  }

  /** All turns of all conversations, so many conversations at the same time. */
  async run({ turns, atOnce }: RacePlan): Promise<void> {
    const waiting = [...this.conversations];
    const work = async (): Promise<void> => {
      for (let one = waiting.shift(); one; one = waiting.shift()) {
        one.next();
        await this.#turn(one);
        this.turnsDone++;
        if (one.texts.length < turns) waiting.push(one);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  /** Turn by turn until it is over; conversations that are long enough make room for new ones. */
  async runUntil(isOver: () => boolean, { turns, atOnce }: Pick<RacePlan, 'turns' | 'atOnce'>): Promise<void> {
    const work = async (): Promise<void> => {
      let one = this.add();
      while (!isOver()) {
        if (one.texts.length >= turns) one = this.add();
        one.next();
        await this.#turn(one);
        this.turnsDone++;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  add(): Conversation {
    const added = new Conversation(this.conversations.length);
    this.conversations.push(added);
    return added;
  }

  async #turn(conversation: Conversation): Promise<void> {
    for (;;) {
      const replica = await this.#choose();
      const beganMs = performance.now();
      const failure = await ask(replica, conversation);
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganMs);
      if (failure === null) return;
      if (!this.#team.isGone(replica)) {
        this.wrong.push(`conversation ${conversation.number}, turn ${conversation.texts.length}: ${failure}`);
        return;
      }
      this.again++;
    }
  }

  async #choose(): Promise<Replica> {
    for (;;) {
      const { alive } = this.#team;
      const replica = alive[Math.floor(this.#random() * alive.length)];
      if (replica) return replica;
      await pause(5);
    }
  }
}

/** Sends the newest turn; `null`, or why it was not answered. */
export async function ask({ url }: { readonly url: string }, conversation: Conversation): Promise<string | null> {
  try {
    const answer = await fetch(`${url}${conversation.path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'anthropic-version': '2023-06-01' },
      body: conversation.body(),
    });
    const text = await answer.text();
    if (answer.status !== 200) return `status ${answer.status}: ${text.slice(0, 200)}`;
    return text.includes('[DONE]') || text.endsWith('}') ? null : 'the answer ended early';
  } catch (cause) {
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : '';
    return `${cause} ${inner}`;
  }
}

/**
 * Conversations whose every turn goes to a random replica, while replicas are killed at random and the database is away
 * twice: what was forwarded never changes, every marker is recovered, no request fails that the provider would have
 * answered, and whoever watches sees each event once and in order.
 */
export async function race(plan: RacePlan, database: RaceDatabase): Promise<Finding> {
  const transcript = new Transcript();
  const random = chance(plan.seed + 1);
  const provider = await startProvider(transcript.note, () => random() * 20);
  const team = new Team({
    MCP_PRUNER_DATABASE_URL: database.url,
    MCP_PRUNER_UPSTREAM_URL: `${provider.url}/v1`,
    MCP_PRUNER_ANTHROPIC_URL: provider.url,
    MCP_PRUNER_ENABLE: 'events-bus,resources',
    // how long deciding may take is not what is tried here, and the machine is busy
    MCP_PRUNER_TIMEOUT_MS: '10000',
  });
  try {
    await Promise.all(Array.from({ length: plan.replicas }, (_, i) => team.start(i)));
    const agents = new Agents(team, plan);
    const watchers = [new Watcher(team, plan.seed + 2), new Watcher(team, plan.seed + 3)];
    const watching = watchers.map((watcher) => watcher.run());
    let isOver = false;
    const killing = killAtRandom(team, plan, random, () => isOver);
    const restarting = restartTwice(database, () => agents.turnsDone / (plan.conversations * plan.turns));
    const running = agents.run(plan);
    const ofRun = await watchOneRun(team, database, plan.seed);
    await Promise.all([running, restarting]);
    isOver = true;
    await killing;
    await Promise.all(team.alive.map(({ number }) => replace(team, number)));
    for (const watcher of [...watchers, ofRun.watcher]) watcher.end();
    await Promise.all([...watching, ofRun.watching]);
    const stored = await database.query<{ seq: number; run_id: string }>(
      'SELECT seq, run_id FROM mcp_pruner.event ORDER BY seq',
    );
    const all = stored.map(({ seq }) => Number(seq));
    const one = stored.filter(({ run_id }) => run_id === ofRun.run).map(({ seq }) => Number(seq));
    const wrong = [
      ...agents.wrong,
      ...transcript.wrong,
      ...watchers.flatMap((watcher) => [...watcher.wrong, ...differences('events_watch', watcher.seen, all)]),
      ...ofRun.watcher.wrong,
      ...differences('resources_watch', ofRun.watcher.seen, one),
      ...(await inspect(team, transcript, agents.conversations)),
    ];
    const did =
      `seed ${plan.seed}: ${agents.turnsDone} turns of ${plan.conversations} conversations by ${plan.replicas} replicas, ` +
      `${team.kills} kills, ${agents.again} sent again, ${transcript.markers.size} markers, ${all.length} events, ` +
      `${one.length} of one run, done without: ${JSON.stringify(Object.fromEntries(team.fallbacks))}`;
    return { passed: wrong.length === 0, says: [did, `${wrong.length} wrong`, ...wrong.slice(0, 8)].join('; ') };
  } finally {
    await team.close();
    provider.close();
  }
}

/** What is told of a request is written a moment after it; one that ends in order writes what waits. */
async function replace(team: Team, number: number): Promise<void> {
  await team.retire(number);
  await team.start(number);
}

async function killAtRandom(
  team: Team,
  { killEveryMs }: RacePlan,
  random: () => number,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await pause(random() * killEveryMs);
    const { alive } = team;
    const victim = alive[Math.floor(random() * alive.length)];
    if (!victim || alive.length < 2) continue;
    await team.kill(victim.number);
    await team.start(victim.number);
  }
}

async function restartTwice(database: RaceDatabase, progress: () => number): Promise<void> {
  for (const [time, at] of [1 / 3, 2 / 3].entries()) {
    while (progress() < at) await pause(10);
    await database.restart(time);
  }
}

/** Follows the events of the first conversation that there are any of. */
async function watchOneRun(
  team: Team,
  database: RaceDatabase,
  seed: number,
): Promise<{ readonly run: string; readonly watcher: Watcher; readonly watching: Promise<void> }> {
  for (;;) {
    const [row] = await database
      .query<{ run_id: string }>("SELECT run_id FROM mcp_pruner.event WHERE kind = 'pruned' ORDER BY seq LIMIT 1")
      .catch(() => []); // not there yet
    if (row) {
      const watcher = new Watcher(team, seed + 4, `sc://runs/${row.run_id}/events`);
      return { run: row.run_id, watcher, watching: watcher.run() };
    }
    await pause(10);
  }
}
