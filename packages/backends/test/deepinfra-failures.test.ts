import { describe, expect, it } from 'vitest';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { deepinfraEnv, NOWHERE, pruneText, startWithDeepinfra } from './pruning.ts';
import { hang, KEY, type Respond, rerankAnswer, startReranker } from './services.ts';

const GOAL = 'why did the payment fail?';
const TEXT = serverLog(150);

interface Row {
  readonly what: string;
  readonly respond: Respond;
  readonly warning: 'deepinfra_http_error' | 'deepinfra_parse_error';
  /** `undefined`: there was none. */
  readonly status?: number;
  readonly env?: Readonly<Record<string, string>>;
}

function answers(status: number, body: string, type = 'application/json'): Respond {
  return (res) => res.writeHead(status, { 'content-type': type }).end(body);
}

function scores(make: (count: number) => unknown): Respond {
  return (res, { body }) => {
    const { documents } = JSON.parse(body.toString('utf8')) as { documents: string[] };
    json(res, 200, { scores: make(documents.length) });
  };
}

const stall: Respond = (res) => {
  res.writeHead(200, { 'content-type': 'application/json' });
  res.write('{"scores":[');
};

const IMPATIENT = { DEEPINFRA_TIMEOUT_MS: '150' };

const rows: readonly Row[] = [
  ...[400, 401, 403, 404, 422, 429, 500, 502, 503].map((status): Row => {
    const respond = answers(status, JSON.stringify({ detail: `no, ${KEY}` }));
    return { what: `answers ${status}`, respond, warning: 'deepinfra_http_error', status };
  }),
  { what: 'does not answer', respond: hang, warning: 'deepinfra_http_error', env: IMPATIENT },
  { what: 'stops in mid-answer', respond: stall, warning: 'deepinfra_http_error', env: IMPATIENT },
  { what: 'hangs up', respond: (res) => res.socket?.destroy(), warning: 'deepinfra_http_error' },
  {
    what: 'hangs up in mid-answer',
    respond: (res) => {
      res.writeHead(200, { 'content-length': '1000' });
      res.write('{"scores"', () => res.socket?.destroy());
    },
    warning: 'deepinfra_http_error',
  },
  {
    what: 'answers a page',
    respond: answers(200, '<html>', 'text/html'),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  { what: 'answers nothing', respond: answers(200, ''), warning: 'deepinfra_parse_error', status: 200 },
  {
    what: 'answers broken JSON',
    respond: answers(200, '{"scores":[0.1,'),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  { what: 'answers null', respond: answers(200, 'null'), warning: 'deepinfra_parse_error', status: 200 },
  {
    what: 'answers another shape',
    respond: answers(200, '{"results":[]}'),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  {
    what: 'gives too few scores',
    respond: scores((n) => Array(n - 1).fill(0.5)),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  {
    what: 'gives too many scores',
    respond: scores((n) => Array(n + 1).fill(0.5)),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  {
    what: 'gives scores that are words',
    respond: scores((n) => Array(n).fill('0.5')),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  {
    what: 'gives scores that are missing',
    respond: scores((n) => Array(n).fill(null)),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  {
    what: 'gives lists of the wrong length',
    respond: scores((n) => Array(n).fill([0.1, 0.2])),
    warning: 'deepinfra_parse_error',
    status: 200,
  },
  {
    what: 'gives scores beyond all numbers',
    respond: (res, { body }) => {
      const { documents } = JSON.parse(body.toString('utf8')) as { documents: string[] };
      res.writeHead(200).end(`{"scores":[${documents.map(() => '1e999').join(',')}]}`);
    },
    warning: 'deepinfra_parse_error',
    status: 200,
  },
];

let alone: string | undefined;

/** What the product makes of the text when no backend is configured. */
async function withoutBackend(): Promise<string> {
  alone ??= (await pruneText(await startProxy(NOWHERE), TEXT, GOAL, {}, 'logs')).pruned_text;
  return alone;
}

describe('prune_text, when the rerank endpoint', () => {
  it.each(rows)('$what, ranks without it and reports the reason', async ({ respond, warning, status, env }) => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = respond;
    const proxy = await startWithDeepinfra(reranker, env);

    const pruned = await pruneText(proxy, TEXT, GOAL, {}, 'logs');

    expect(pruned.pruned_text).toBe(await withoutBackend());
    expect(pruned.annotations.length).toBeGreaterThan(0);
    expect(pruned.warnings).toEqual(['deepinfra_error', warning]);
    expect(pruned.stats).toMatchObject({
      used_fallback: true,
      backend: 'deepinfra',
      deepinfra_docs_scored: 0,
      deepinfra_docs_total: 150,
      deepinfra_cached: false,
    });
    expect(pruned.stats.deepinfra_http_status).toBe(status);
    expect(await proxy.recover(pruned.prune_id, 1, 150)).toBe(TEXT.trimEnd());
    expect(JSON.stringify(pruned)).not.toContain(KEY);
    const log = await proxy.logText();
    expect(log).toContain(warning);
    expect(log).not.toContain(KEY);
    expect(log).not.toContain('GET /v1/items');
    expect(log).not.toContain(GOAL);
  });

  it('cannot be reached, ranks without it', async () => {
    const proxy = await startWithDeepinfra('http://127.0.0.1:9/rerank');
    const pruned = await pruneText(proxy, TEXT, GOAL, {}, 'logs');
    expect(pruned.warnings).toEqual(['deepinfra_error', 'deepinfra_http_error']);
    expect(pruned.stats).toMatchObject({ used_fallback: true });
    expect(pruned.stats).not.toHaveProperty('deepinfra_http_status');
  });

  it('redirects, does not follow', async () => {
    const elsewhere = await startReranker(() => 0.5);
    const reranker = await startReranker(() => 0.5);
    for (const status of [301, 302, 307, 308]) {
      reranker.respond = (res) => res.writeHead(status, { location: elsewhere.url }).end();
      const proxy = await startWithDeepinfra(reranker);
      const pruned = await pruneText(proxy, TEXT, GOAL, {}, 'logs');
      expect(pruned.warnings).toEqual(['deepinfra_error', 'deepinfra_http_error']);
      expect(pruned.stats.deepinfra_http_status).toBe(status);
    }
    expect(elsewhere.calls).toHaveLength(0);
  });

  it('sends an endless answer, stops reading', async () => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = (res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!res.destroyed && res.write('0.5,'.repeat(16_384)));
      };
      res.on('drain', more);
      res.write('{"scores":[');
      more();
    };
    const proxy = await startWithDeepinfra(reranker);
    const pruned = await pruneText(proxy, TEXT, GOAL, {}, 'logs');
    expect(pruned.warnings).toEqual(['deepinfra_error', 'deepinfra_parse_error']);
  });

  it('is slow, waits no longer than the shorter time limit', async () => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = hang;
    const own = await startWithDeepinfra(reranker, IMPATIENT);
    const byCaller = await startWithDeepinfra(reranker);
    for (const [proxy, timeout_ms] of [
      [own, 60_000],
      [byCaller, 1_000],
    ] as const) {
      const pruned = await pruneText(proxy, TEXT, GOAL, { timeout_ms }, 'logs');
      expect(pruned.stats.elapsed_ms).toBeLessThan(60_000); // the other limit
      expect(pruned.stats).toMatchObject({ used_fallback: true });
    }
  });

  it('has no key, does not call it', async () => {
    const reranker = await startReranker(() => 0.5);
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker, { DEEPINFRA_API_KEY: '' }) });
    const pruned = await pruneText(proxy, TEXT, GOAL, {}, 'logs');
    expect(pruned.warnings).toEqual(['deepinfra_error', 'deepinfra_config_error']);
    expect(pruned.stats).toMatchObject({ used_fallback: true, backend: 'deepinfra', deepinfra_docs_scored: 0 });
    expect(pruned.stats).not.toHaveProperty('deepinfra_http_status');
    expect(pruned.annotations.length).toBeGreaterThan(0);
    expect(reranker.calls).toHaveLength(0);
  });

  it('works again, uses it for the text that it failed on', async () => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = (res) => json(res, 429, { detail: 'slow down' });
    const proxy = await startWithDeepinfra(reranker, { DEEPINFRA_MAX_DOCS: '500' });
    const failed = await pruneText(proxy, TEXT, GOAL, {}, 'logs');
    reranker.respond = (res, { body }) => {
      const { documents } = JSON.parse(body.toString('utf8')) as { documents: string[] };
      json(res, 200, rerankAnswer(documents.map((_, i) => (i > 60 && i < 80 ? 0.99 : 0.001))));
    };
    const worked = await pruneText(proxy, TEXT, GOAL, {}, 'logs');
    expect(worked.stats).toMatchObject({ used_fallback: false, deepinfra_http_status: 200 });
    expect(worked.pruned_text).not.toBe(failed.pruned_text);
    expect(worked.prune_id).not.toBe(failed.prune_id);
  });
});
