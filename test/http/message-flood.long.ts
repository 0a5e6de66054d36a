import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { compiled } from '../helpers/built.ts';
import { chatBody } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startServerProcess } from '../helpers/server-process.ts';

beforeAll(() => void compiled('cli.js'), 120_000);

const MESSAGES = 19_000;
const CONVERSATIONS = 48;
const AT_ONCE = 4;

/** The most memory that a process has had resident, in MiB. */
function mostMib(pid: number | undefined): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

describe('one client that sends conversations of very many tiny messages', () => {
  it('cannot crash a replica with 512 MB of memory', async () => {
    const upstream = await startUpstream();
    const server = await startServerProcess({
      env: {
        MCP_PRUNER_UPSTREAM_URL: upstream.url,
        MCP_PRUNER_DB_PATH: join(tempFolder(), 'store.db'),
        NODE_OPTIONS: '--max-old-space-size=256',
      },
    });
    const answered: number[] = [];
    const ask = async (seed: number): Promise<void> => {
      const messages = Array.from({ length: MESSAGES }, (_, i) => ({ role: 'user', content: `${seed}.${i}` }));
      const answer = await server.chat(chatBody(messages));
      await answer.arrayBuffer();
      answered.push(answer.status);
    };
    for (let seed = 0; seed < CONVERSATIONS; seed += AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, CONVERSATIONS - seed) }, (_, i) => ask(seed + i)));
      upstream.requests.length = 0;
    }
    expect(answered.filter((status) => status === 200)).toHaveLength(CONVERSATIONS);
    expect(server.child.exitCode ?? server.child.signalCode).toBeNull();
    if (process.platform === 'linux') expect(mostMib(server.child.pid)).toBeLessThan(512);
  }, 600_000);
});
