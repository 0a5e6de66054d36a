import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { compiled } from '../helpers/built.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { serverLog } from '../helpers/texts.ts';

beforeAll(() => void compiled('cli.js'), 120_000);

const bodyOf = (seed: number, lines: number): Buffer =>
  chatBody(oneResult(serverLog(lines, seed), { args: { command: `job ${seed}` } }));

describe('more simultaneous new bodies than the heap has room for', () => {
  it('are all answered, unpruned if there is no room for them, and later texts are cut as usual', async () => {
    const upstream = await startUpstream();
    const dbPath = join(tempFolder(), 'store.db');
    const server = await startServerProcess({
      env: {
        MCP_PRUNER_UPSTREAM_URL: upstream.url,
        MCP_PRUNER_DB_PATH: dbPath,
        MCP_PRUNER_TIMEOUT_MS: '1000', // sooner than any machine has decided about all of them
        NODE_OPTIONS: '--max-old-space-size=60',
      },
    });
    const bodies = Array.from({ length: 80 }, (_, seed) => bodyOf(seed, 15_000)); // some 0.9 MB each
    const statuses = await Promise.all(
      bodies.map(async (body) => {
        const answer = await server.chat(body);
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(bodies.length);
    expect(server.child.exitCode ?? server.child.signalCode).toBeNull();
    const forwarded = upstream.requests.map(({ body }) => body.length);
    const size = Math.min(...bodies.map(({ length }) => length));
    expect(forwarded.some((length) => length >= size)).toBe(true);
    const cutAfterwards = async (): Promise<boolean> => {
      const body = bodyOf(performance.now(), 2_000);
      await (await server.chat(body)).arrayBuffer();
      return upstream.last.body.length < body.length / 2;
    };
    await expect.poll(cutAfterwards, { timeout: 30_000 }).toBe(true);
  });
});

describe('an upstream with a certificate that is trusted only through NODE_EXTRA_CA_CERTS', () => {
  it.skipIf(!hasOpenssl()).each(['/v1/chat/completions', '/v1/models'])('is reached at %s', async (path) => {
    const folder = tempFolder();
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const upstream = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (req, res) => {
      req.resume().on('end', () => res.setHeader('content-type', 'application/json').end('{"from":"upstream"}'));
    });
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    afterwards(() => upstream.close());
    const port = (upstream.address() as AddressInfo).port;
    const env = {
      MCP_PRUNER_UPSTREAM_URL: `https://127.0.0.1:${port}/v1`,
      MCP_PRUNER_DB_PATH: join(folder, 'store.db'),
    };
    const ask = async (more: Readonly<Record<string, string>>): Promise<[number, string]> => {
      const server = await startServerProcess({ env: { ...env, ...more } });
      const body = path === '/v1/models' ? undefined : bodyOf(1, 200);
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(server.url + path, { method: body ? 'POST' : 'GET', headers, body: body ?? null });
      return [answer.status, await answer.text()];
    };
    expect((await ask({}))[0]).toBe(502);
    expect(await ask({ NODE_EXTRA_CA_CERTS: cert })).toEqual([200, '{"from":"upstream"}']);
  });
});

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
