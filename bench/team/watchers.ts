import { chance, pause } from '../soak/chance.ts';
import type { Team } from './stage.ts';

/** Answers of tools are read field by field. */
type Answer = ReturnType<typeof JSON.parse>;

/** Calls a tool of a replica. @throws Error when it refuses or is not there */
export async function callTool(url: string, name: string, args: object): Promise<Answer> {
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  const { result, error } = (await response.json()) as { result?: Answer; error?: { message: string } };
  if (error) throw new Error(`${name}: ${error.message}`);
  return JSON.parse(result.content[0].text);
}

const PAGE = 500;

/** Somebody who reads a log as it grows, asking whichever replica lives. */
export class Watcher {
  readonly #team: Team;
  readonly #ask: (url: string, fromSeq: number) => Promise<Answer>;
  readonly #random: () => number;
  readonly seen: number[] = [];
  readonly wrong: string[] = [];
  #isOver = false;

  /** @param uri - of one log; without it the events of all runs */
  constructor(team: Team, seed: number, uri?: string) {
    this.#team = team;
    this.#random = chance(seed);
    this.#ask = (url, from_seq) =>
      uri === undefined
        ? callTool(url, 'events_watch', { from_seq, limit: PAGE, wait_ms: 200 })
        : callTool(url, 'resources_watch', { uri, from_seq, limit: PAGE, wait_ms: 200 });
  }

  async run(): Promise<void> {
    let next = 0;
    for (let quiet = false; !quiet; ) {
      const isLast = this.#isOver;
      const { alive } = this.#team;
      const replica = alive[Math.floor(this.#random() * alive.length)];
      if (replica === undefined) {
        await pause(10);
        continue;
      }
      try {
        const { events, next_seq } = await this.#ask(replica.url, next);
        for (const { seq } of events as readonly { seq: number }[]) this.#note(seq);
        next = next_seq;
        quiet = isLast && events.length === 0;
      } catch {
        await pause(10); // killed, or its database is away: asked again from where it was
      }
    }
  }

  /** Lets it end once nothing new comes. */
  end(): void {
    this.#isOver = true;
  }

  #note(seq: number): void {
    const last = this.seen.at(-1) ?? 0;
    if (seq <= last) this.wrong.push(`event ${seq} was told after ${last}`);
    this.seen.push(seq);
  }
}

/** What a watcher of a log should have seen and did not, or the other way round. */
export function differences(what: string, seen: readonly number[], stored: readonly number[]): string[] {
  const known = new Set(stored);
  const received = new Set(seen);
  const skipped = stored.filter((seq) => !received.has(seq));
  const gone = seen.filter((seq) => !known.has(seq));
  return [
    ...(skipped.length > 0 ? [`${what}: ${skipped.length} events were never told, such as ${skipped[0]}`] : []),
    ...(gone.length > 0 ? [`${what}: ${gone.length} events were told and are gone, such as ${gone[0]}`] : []),
  ];
}
