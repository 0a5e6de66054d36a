import { existsSync } from 'node:fs';
import { hashOfKey, newKeyId, newKeyText } from '@mcp-pruner/team/keys/key-text.ts';
import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { pause } from '../soak/chance.ts';
import { BOUNCER, withPooler } from './pooler.ts';
import { Team } from './stage.ts';
import type { Trial } from './trials.ts';
import { withPostgres } from './trials.ts';

const REPLICAS = 3;
const TRIES = 100;
const MOST_MS = 1_000;
/** Between two requests of somebody who goes on using the key. */
const EVERY_MS = 4;

/**
 * How long a revoked key goes on opening each replica, from the moment the revocation is in the database. Revoked by a process
 * of its own at a random moment, as an operator does.
 */
async function timesOf(url: string): Promise<number[]> {
  const team = new Team({ MCP_PRUNER_DATABASE_URL: url, MCP_PRUNER_REQUIRE_KEY: 'true' });
  const store = openPostgresStore({ url, clock: { nowMs: () => Date.now() }, ttlMs: 1e9, maxBytes: 1e9, maxEvents: 1 });
  try {
    await store.ready();
    const keys = await store.keys();
    for (let i = 0; i < REPLICAS; i++) await team.start(i);
    const times: number[] = [];
    for (let i = 0; i < TRIES; i++) {
      const text = newKeyText();
      const id = newKeyId();
      const about = {
        requestsPerMinute: null,
        tokensPerDay: null,
        dollarsPerMonth: null,
        lastUsedMs: null,
        createdMs: Date.now(),
        expiresMs: null,
        revokedMs: null,
      };
      await keys.create([{ id, hash: hashOfKey(text), name: `try ${i}`, projects: ['web'], ...about }]);
      const isOpen = async (replica: string): Promise<boolean> => {
        const answer = await fetch(`${replica}/page/api/session`, { headers: { 'x-mcp-pruner-key': text } });
        await answer.arrayBuffer();
        return answer.status === 200;
      };
      for (const { url: replica } of team.alive) while (!(await isOpen(replica))) await pause(EVERY_MS);
      await pause(Math.random() * 500);
      await keys.revoke(id, Date.now());
      const revokedMs = performance.now();
      const until = async (replica: string): Promise<void> => {
        while (await isOpen(replica)) await pause(EVERY_MS);
        times.push(performance.now() - revokedMs);
      };
      await Promise.all(team.alive.map(({ url: replica }) => until(replica)));
    }
    return times.sort((a, b) => a - b);
  } finally {
    await team.close();
    await store.close();
  }
}

function shown(way: string, times: readonly number[]): string {
  const at = (share: number): number =>
    Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  return `${way}: ${times.length} ends, median ${at(0.5)} ms, 99 % ${at(0.99)}, slowest ${at(1)}`;
}

/** Keys are revoked, with notifications and, where there is a PgBouncer, without. */
export const revocation: Trial = () =>
  withPostgres(async (postgres) => {
    const direct = await timesOf(postgres.url());
    const pooled = existsSync(BOUNCER) ? await withPooler(postgres, (url) => timesOf(url)) : [];
    const slowest = Math.max(...direct, ...pooled);
    const says = [shown('direct', direct), ...(pooled.length > 0 ? [shown('through PgBouncer', pooled)] : [])];
    return { passed: slowest <= MOST_MS, says: says.join('; ') };
  });
