import { join } from 'node:path';
import { main } from 'mcp-pruner/cli/main.ts';
import { describe, expect, it } from 'vitest';
import { fakeIo } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { program } from '../../../test/helpers/program.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';

const script = `
  process.stderr.write('first\\nkey ' + process.env.SOME_API_KEY + '\\nlast without end');
  process.exitCode = 3;
`;

async function runAgent(env: Record<string, string>) {
  const dbPath = join(tempFolder(), 'store.db');
  const proxy = await startProxy(await startUpstream(), { dbPath });
  const { io, ran } = fakeIo({
    env: { PATH: process.env.PATH, MCP_PRUNER_DB_PATH: dbPath, SOME_API_KEY: 'value-of-a-key', ...env },
    clock: { nowMs: () => 1_700_000_000_000 },
    homeDir: tempFolder(),
    cwd: tempFolder(),
  });
  const code = await main(['run', 'node', '--proxy', proxy.url, '--', '-e', script], io, program);
  const { records } = openStore(dbPath);
  const children = await records.children({ prefix: '', limit: 10 });
  const childId = children[0]?.childId ?? '';
  return { ...ran(code), children, logs: await records.childLogs({ childId, fromSeq: 0, limit: 100 }) };
}

describe('mcp-pruner run', () => {
  it('records the lifecycle and stderr of an agent if resources are on, with keys redacted', async () => {
    const { code, err, children, logs } = await runAgent({ MCP_PRUNER_ENABLE: 'resources' });
    expect(code).toBe(3);
    expect(children).toHaveLength(1);
    expect(children[0]?.childId).toMatch(/^node-/);
    const lines = logs.map(({ stream, message }) => `${stream}: ${message}`);
    expect(lines.filter((line) => line.startsWith('stderr'))).toEqual([
      'stderr: first',
      'stderr: key [redacted]',
      'stderr: last without end',
    ]);
    expect(lines).toContain('meta: started node');
    expect(lines).toContain('meta: node ended with code 3');
    // its user sees what it says as ever
    expect(err).toContain('first\nkey value-of-a-key\nlast without end');
  });

  it('records nothing if resources are off', async () => {
    const { code, children } = await runAgent({});
    expect([code, children]).toEqual([3, []]);
  });
});
