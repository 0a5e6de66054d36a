import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { projectRoot } from '../helpers/project-files.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

/** Debian's package `prometheus` has both programs. */
const [PROMETHEUS, PROMTOOL] = ['/usr/bin/prometheus', '/usr/bin/promtool'];
const isAbsent = !existsSync(PROMETHEUS) || !existsSync(PROMTOOL);
if (isAbsent) process.stderr.write('left out: the tests with a real Prometheus (apt-get install prometheus)\n');

const deploy = `${projectRoot}deploy/`;
const BOARDS = ['spend', 'operation'] as const;

interface Board {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

function queriesOf(name: string): string[] {
  const { panels } = JSON.parse(readFileSync(`${deploy}grafana/${name}.json`, 'utf8')) as Board;
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}

describe.skipIf(isAbsent)('Prometheus', () => {
  it('accepts the alert rules, and fires each alert when it should and not otherwise', () => {
    execFileSync(PROMTOOL, ['check', 'rules', `${deploy}prometheus/rules.yml`], { stdio: 'pipe' });
    execFileSync(PROMTOOL, ['test', 'rules', `${deploy}prometheus/rules.test.yml`], { stdio: 'pipe' });
    const rules = readFileSync(`${deploy}prometheus/rules.yml`, 'utf8');
    const tests = readFileSync(`${deploy}prometheus/rules.test.yml`, 'utf8');
    for (const [, alert] of rules.matchAll(/alert: (\w+)/g)) {
      expect(tests).toContain(`- {eval_time: 8h, alertname: ${alert}}`);
      expect(tests).toContain(`name: ${alert} fires`);
    }
  });

  it('has data for every dashboard query and every rule after scraping a proxy', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_METRICS_LABELS: 'model,project,key' } });
    const body = chatBody(oneResult(serverLog(400, 1)));
    const ask = async (): Promise<void> => {
      upstream.answer = (_request, res) =>
        res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWER));
      await proxy.chat(body);
      await proxy.chat(body, { origin: 'https://elsewhere.example' }); // a fallback
      upstream.answer = (_request, res) => res.destroy();
      await proxy.chat(body); // an error of the upstream
    };
    const prometheus = await startPrometheus(proxy.url);
    const emptyOf = async (): Promise<string[]> => {
      await ask();
      const queries = BOARDS.flatMap(queriesOf);
      expect(queries.length).toBeGreaterThan(30);
      const answers = await Promise.all(queries.map(async (query) => [query, await prometheus.query(query)] as const));
      return answers.flatMap(([query, results]) => (results === 0 ? [query] : []));
    };
    expect(await until(async () => (await emptyOf()).length === 0 && 'all answered', 30_000).catch(emptyOf)).toBe(
      'all answered',
    );
    const rules = await until(async () => {
      const all = await prometheus.rules();
      return all.length > 0 && all.every(({ lastEvaluation }) => lastEvaluation > '1') && all;
    });
    expect(rules.map(({ name, health, lastError = '' }) => `${name} ${health} ${lastError}`)).toEqual(
      rules.map(({ name }) => `${name} ok `),
    );
    expect(rules.length).toBe(readFileSync(`${deploy}prometheus/rules.yml`, 'utf8').match(/alert:/g)?.length);
  });
});

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  model: 'gpt-5',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5_000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 100 } },
};

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly lastEvaluation: string;
}

/** A Prometheus that scrapes one proxy several times a second. */
async function startPrometheus(proxyUrl: string) {
  const folder = tempFolder();
  mkdirSync(join(folder, 'data'));
  const config = join(folder, 'prometheus.yml');
  writeFileSync(
    config,
    `global: {scrape_interval: 300ms, scrape_timeout: 300ms, evaluation_interval: 300ms}
rule_files: ['${deploy}prometheus/rules.yml']
scrape_configs: [{job_name: mcp-pruner, static_configs: [{targets: ['${new URL(proxyUrl).host}']}]}]
`,
  );
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    PROMETHEUS,
    [`--config.file=${config}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  afterwards(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until(async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true);
  const get = async (path: string): Promise<unknown> => {
    const answer = (await (await fetch(url + path)).json()) as { status: string; data: unknown; error?: string };
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  return {
    /** Number of series that a query of a dashboard gives. */
    async query(expr: string): Promise<number> {
      const plain = expr
        .replaceAll('$__rate_interval', '10s')
        .replaceAll('$__range', '1h')
        .replaceAll('$instance', '.*');
      const { result } = (await get(`/api/v1/query?query=${encodeURIComponent(plain)}`)) as { result: unknown[] };
      return result.length;
    },
    async rules(): Promise<Rule[]> {
      const { groups } = (await get('/api/v1/rules')) as { groups: { rules: Rule[] }[] };
      return groups.flatMap(({ rules }) => rules);
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
