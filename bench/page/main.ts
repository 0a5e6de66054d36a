// npm run bench -- page [--pictures]
// What the page costs with 100,000 requests in the store, answer by answer; and, with --pictures, the pictures of
// docs/page.md, drawn from a month of made-up work with this project's own files.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { Agent } from '../../packages/context/test/agent.ts';
import { browserPath, launch } from '../../packages/page/test/browser.ts';
import { fillStore } from '../../packages/page/test/material.ts';
import { addMonth } from '../../packages/page/test/month.ts';
import { openStage, type Stage } from '../../packages/page/test/stage.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { serverLog } from '../../test/helpers/texts.ts';

const root = process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd();
/** As `npm run build` left it. */
const pageFolder = join(root, 'dist/page');
const DAY_MS = 86_400_000;
const DAYS = 24;
const ROUNDS = 20;

const out = (text: string): void => void process.stdout.write(text);

/** What the overview asks for. */
const OVERVIEW = [
  'session',
  'ledger?days=30',
  'contexts?days=30',
  'lines?days=30&by=model&measure=dollars',
  'lines?days=30&by=project&measure=dollars',
];

/** Milliseconds of an answer, median and worst, with a full store; at the end, the CPU that the overview takes. */
async function times(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-page-bench-'));
  const dbPath = join(folder, 'store.db');
  await fillStore(dbPath, 100_000);
  const stage = await openStage({ pageFolder, dbPath, env: { MCP_PRUNER_MAX_EVENTS: '1000000' } });
  const answers = [
    'session',
    'ledger?days=30',
    'contexts?days=30',
    'requests',
    'requests?before=50000',
    'requests?only=fault',
    ...['seen', 'dollars', 'cut'].map((sort) => `conversations?sort=${sort}`),
    'conversations?q=model-7',
    'facets',
    'conversation?name=c-1000',
    'timeline?name=c-1000',
    'lines?days=30&by=model&measure=dollars',
  ];
  for (const path of [...answers, 'store', 'prunes', 'prunes?before=50000', 'settings']) {
    const took: number[] = [];
    let size = 0;
    for (let i = 0; i < ROUNDS; i++) {
      const start = performance.now();
      const body = await (await fetch(`${stage.url}/page/api/${path}`)).text();
      took.push(performance.now() - start);
      size = body.length;
    }
    took.sort((a, b) => a - b);
    const [median = 0, worst = 0] = [took[ROUNDS / 2], took.at(-1)];
    out(
      `${path.padEnd(28)} ${median.toFixed(1).padStart(7)} ms, at most ${worst.toFixed(1).padStart(7)} ms, ${size} characters\n`,
    );
  }
  const cpu = [];
  for (let i = 0; i < ROUNDS; i++) {
    const before = process.cpuUsage();
    for (const path of OVERVIEW) await (await fetch(`${stage.url}/page/api/${path}`)).text();
    const { user, system } = process.cpuUsage(before);
    cpu.push((user + system) / 1_000);
  }
  cpu.sort((a, b) => a - b);
  out(`the overview: ${cpu[ROUNDS / 2]?.toFixed(0)} ms of CPU, at most ${cpu.at(-1)?.toFixed(0)} ms\n`);
  await stage.close();
  rmSync(folder, { recursive: true });
}

const source = (path: string): string => readFileSync(join(root, 'src', path), 'utf8');
const FILES = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && statSync(join(root, 'src', file)).size > 7_000)
  .sort();

/** One agent at work for a day: it reads files, runs things, and asks again. */
async function dayOfWork(stage: Stage, day: number, onTurn: () => void): Promise<void> {
  const headers = { 'x-mcp-pruner-project': day % 3 === 0 ? 'billing-api' : 'mcp-pruner' };
  const asked = `Day ${day}: why does the store refuse a commit when two processes write? Find the failing path and repair it.`;
  const agent = new Agent(stage, stage.upstream, headers, [
    { role: 'system', content: 'You are a careful engineer.' },
    { role: 'user', content: asked },
  ]);
  const turns = 4 + ((day * 7) % 19);
  for (let turn = 0; turn < turns; turn++) {
    const path = FILES[(day * 5 + turn) % FILES.length] ?? 'core/ports.ts';
    if (turn % 3 === 2)
      agent.tool('bash', { command: 'npm test' }, serverLog(200 + ((day * 37 + turn * 90) % 400), day + turn));
    else agent.tool('read_file', { path: `src/${path}` }, source(path), 'Next I read this file.');
    await agent.send();
    onTurn();
  }
}

const PRICES = `[[price]]
model = "gpt-test"
provider = "openai"
input = 1.25
cache_read = 0.125
output = 10.0
day = "2026-11-24"
source = "made up"
`;

/** Answers with the usage that a provider would count: what a conversation sent before comes from its cache. */
function counting(): Stage['upstream']['answer'] {
  const sent = new Map<string, number>();
  return ({ body }, res) => {
    const { messages, model } = JSON.parse(body.toString('utf8')) as { messages: unknown[]; model: string };
    const key = JSON.stringify(messages.slice(0, 2));
    const total = Math.ceil(body.length / 4);
    // now and then a cache has expired
    const cached = messages.length % 11 === 6 ? 0 : Math.floor((sent.get(key) ?? 0) / 128) * 128;
    sent.set(key, total);
    const usage = { prompt_tokens: total, completion_tokens: 300, prompt_tokens_details: { cached_tokens: cached } };
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }];
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ model, choices, usage: { ...usage, total_tokens: total + 300 } }));
  };
}

async function pictures(): Promise<void> {
  let nowMs = Date.now() - DAYS * DAY_MS;
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-page-pictures-'));
  const prices = join(folder, 'prices.toml');
  writeFileSync(prices, PRICES);
  const stage = await openStage({
    pageFolder,
    clock: { nowMs: () => nowMs },
    env: {
      MCP_PRUNER_PRUNE_ID_TTL_S: String(40 * 86_400),
      MCP_PRUNER_CONVERSATION_TITLES: 'true',
      MCP_PRUNER_PRICES: prices,
    },
  });
  stage.upstream.answer = counting();
  for (let day = 0; day < DAYS; day++, nowMs += DAY_MS - 3_600_000)
    if (day % 7 < 5 || day > DAYS - 3) await dayOfWork(stage, day, () => (nowMs += 60_000));
  nowMs = Date.now();
  const clock = { nowMs: () => nowMs };
  const store = openSqliteStore({ path: stage.dbPath, clock, ttlMs: DAYS * DAY_MS, maxBytes: 1e9, maxEvents: 1e6 });
  await addMonth(store.ledger, nowMs);
  await store.close();
  const last = new Agent(stage, stage.upstream, { 'x-mcp-pruner-project': 'checkout' });
  last.tool(
    'read_file',
    { path: 'src/payments.ts' },
    source('store/sqlite.ts').slice(0, 9_000),
    'I read the payments first.',
  );
  await last.send();
  last.tool('bash', { command: 'npm start' }, serverLog(260, 5), 'Now the log of the server.');
  await last.send();
  last.chatter(1);
  await last.send();
  const browser = await launch();
  const draw = async (
    file: string,
    path: string,
    options: object,
    arrange: (page: Page) => Promise<void>,
  ): Promise<void> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    const page = await context.newPage();
    await page.goto(`${stage.url}/#/${path}`);
    await arrange(page);
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(root, 'docs', file) });
    out(`docs/${file}: ${Math.round(statSync(join(root, 'docs', file)).size / 1024)} KiB\n`);
    await context.close();
  };
  const found = (await (await fetch(`${stage.url}/page/api/conversations?sort=requests`)).json()) as {
    conversations: { name: string }[];
  };
  const longest = `conversation//${found.conversations[0]?.name}`;
  const drawn = (page: Page) => page.locator('.timeline .column').first().waitFor();
  const why = async (page: Page): Promise<void> => {
    await drawn(page);
    await page.locator('.timeline-detail').getByRole('button', { name: /^Why/ }).first().click();
    await page.locator('.why').first().waitFor();
  };
  const wide = { width: 1440, height: 900 };
  await draw('page-overview.png', 'overview', { colorScheme: 'dark', viewport: wide }, async (page) => {
    await page.locator('.plot canvas').nth(1).waitFor();
  });
  await draw('page-conversations.png', 'conversations', { colorScheme: 'light' }, async (page) => {
    await page.locator('.talk').first().waitFor();
  });
  await draw('page-conversation.png', longest, { colorScheme: 'light' }, why);
  await draw(
    'page-tools.png',
    'tools',
    { colorScheme: 'light', viewport: { width: 1200, height: 760 } },
    async (page) => {
      await page.locator('tbody tr').first().waitFor();
    },
  );
  await draw('page-phone.png', longest, { colorScheme: 'light', viewport: { width: 390, height: 844 } }, drawn);
  await browser.close();
  await stage.close();
  rmSync(folder, { recursive: true });
}

if (!process.argv.includes('--pictures')) await times();
else if (browserPath === null) out('no chromium here: nothing can be drawn\n');
else await pictures();
