import { pause } from '../soak/chance.ts';
import type { Finding } from '../soak/stage.ts';
import { inspect } from './inspect.ts';
import { Agents, Transcript } from './race.ts';
import { startProvider, Team } from './stage.ts';

const REPLICAS = 3;
const TURNS = 6;
const AT_ONCE = 6;
/** Before and after what happens. */
const CALM_MS = 2_000;
const HEALTHY_WITHIN_MS = 60_000;

export interface LoadOptions {
  readonly seed: number;
  /** Of the database. */
  readonly url: string;
  /** What was sent before may be sent otherwise: the database is away for longer than it is waited for. */
  readonly mayChange?: boolean;
  /** Settings of each replica. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of the build that the replicas are at first. */
  readonly old?: string;
}

/** What a trial can look at and do while agents work. */
export interface Stage {
  readonly team: Team;
  readonly turnsDone: () => number;
}

/**
 * Agents work with three replicas while something happens. No request may fail, what was sent must stay as it was sent (unless
 * that is too much to ask), every marker must give its lines back, and all replicas must be healthy in the end.
 */
export async function underLoad(options: LoadOptions, happen: (stage: Stage) => Promise<string>): Promise<Finding> {
  const { seed, url, env = {}, mayChange = false, old } = options;
  const transcript = new Transcript();
  const provider = await startProvider(transcript.note, () => 5);
  const team = new Team({
    MCP_PRUNER_DATABASE_URL: url,
    MCP_PRUNER_DATABASE_WAIT_MS: '45000', // longer than any of the absences here
    MCP_PRUNER_UPSTREAM_URL: `${provider.url}/v1`,
    MCP_PRUNER_ANTHROPIC_URL: provider.url,
    ...env,
  });
  try {
    await Promise.all(Array.from({ length: REPLICAS }, (_, i) => team.start(i, old)));
    const agents = new Agents(team, { seed, conversations: 0 });
    let isOver = false;
    const working = agents.runUntil(() => isOver, { turns: TURNS, atOnce: AT_ONCE });
    await pause(CALM_MS);
    const said = await happen({ team, turnsDone: () => agents.turnsDone }).finally(() => {
      isOver = true;
    });
    await working;
    const wrong = [...agents.wrong, ...(mayChange ? [] : transcript.wrong), ...(await unhealthy(team))];
    wrong.push(...(await inspect(team, transcript, agents.conversations)));
    const did =
      `${said}; ${agents.turnsDone} turns of ${agents.conversations.length} conversations, ${agents.again} sent again, ` +
      `slowest ${Math.round(agents.slowestMs / 1_000)} s, ${transcript.markers.size} markers, ${transcript.wrong.length} times sent otherwise, ` +
      `done without: ${JSON.stringify(Object.fromEntries(team.fallbacks))}`;
    return { passed: wrong.length === 0, says: [did, `${wrong.length} wrong`, ...wrong.slice(0, 8)].join('; ') };
  } finally {
    await team.close();
    provider.close();
  }
}

/** Replicas that do not become healthy by themselves. */
async function unhealthy(team: Team): Promise<string[]> {
  const endMs = performance.now() + HEALTHY_WITHIN_MS;
  const wrong: string[] = [];
  for (const { number, url } of team.alive) {
    for (;;) {
      const { status, store } = await healthOf(url);
      if (status === 'healthy') break;
      if (performance.now() > endMs) {
        wrong.push(`replica ${number} stays ${status}: ${store}`);
        break;
      }
      await pause(50);
    }
  }
  return wrong;
}

async function healthOf(url: string): Promise<{ status: string; store: string }> {
  return (await (await fetch(`${url}/health`)).json()) as { status: string; store: string };
}

/** Waits until agents have done so many turns more. */
export async function turnsMore({ turnsDone }: Stage, many: number, withinMs = 60_000): Promise<void> {
  const from = turnsDone();
  const endMs = performance.now() + withinMs;
  while (turnsDone() < from + many) {
    if (performance.now() > endMs) throw new Error(`${turnsDone() - from} of ${many} turns within ${withinMs} ms`);
    await pause(10);
  }
}
