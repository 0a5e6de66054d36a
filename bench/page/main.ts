// npm run bench -- page [--pictures]
// What the page costs with 100,000 requests in the store, answer by answer; and, with --pictures, the pictures of
// docs/page.md, drawn from a month of made-up work with this project's own files.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { Agent } from '../../test/gc/agent.ts';
import { serverLog } from '../../test/helpers/texts.ts';
import { browserPath, launch } from '../../test/page/browser.ts';
import { fillStore } from '../../test/page/material.ts';
import { addMonth } from '../../test/page/month.ts';
import { openStage, type Stage } from '../../test/page/stage.ts';

const root = process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd();
/** As `npm run build` left it. */
const pageFolder = join(root, 'dist/page');
const DAY_MS = 86_400_000;
const DAYS = 24;
const ROUNDS = 20;

const out = (text: string): void => void process.stdout.write(text);

/** Milliseconds of an answer, median and worst, with a full store. */
async function times(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-page-bench-'));
  const dbPath = join(folder, 'store.db');
  await fillStore(dbPath, 100_000);
  const stage = await openStage({ pageFolder, dbPath, env: { MCP_PRUNER_MAX_EVENTS: '1000000' } });
  const answers = [
    'session',
    'ledger?days=30',
    'requests',
    'requests?before=50000',
    'conversations',
    'conversation?name=c-1000',
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
  await stage.close();
  rmSync(folder, { recursive: true });
}

const source = (path: string): string => readFileSync(join(root, 'src', path), 'utf8');
const FILES = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && statSync(join(root, 'src', file)).size > 7_000)
  .sort();

/** One agent at work for a day: it reads files, runs things, and asks again. */
async function dayOfWork(stage: Stage, day: number): Promise<void> {
  const headers = { 'x-mcp-pruner-project': day % 3 === 0 ? 'billing-api' : 'mcp-pruner' };
  const asked = `Day ${day}: why does the store refuse a commit when two processes write? Find the failing path and repair it.`;
  const agent = new Agent(stage, stage.upstream, headers, [
    { role: 'system', content: 'You are a careful engineer.' },
    { role: 'user', content: asked },
  ]);
  const turns = 3 + ((day * 7) % 5);
  for (let turn = 0; turn < turns; turn++) {
    const path = FILES[(day * 5 + turn) % FILES.length] ?? 'core/ports.ts';
    if (turn % 3 === 2)
      agent.tool('bash', { command: 'npm test' }, serverLog(200 + ((day * 37 + turn * 90) % 400), day + turn));
    else agent.tool('read_file', { path: `src/${path}` }, source(path), 'Next I read this file.');
    await agent.send();
  }
}

async function pictures(): Promise<void> {
  let nowMs = Date.now() - DAYS * DAY_MS;
  const stage = await openStage({
    pageFolder,
    clock: { nowMs: () => nowMs },
    env: { MCP_PRUNER_PRUNE_ID_TTL_S: String(40 * 86_400) },
  });
  for (let day = 0; day < DAYS; day++, nowMs += DAY_MS) if (day % 7 < 5 || day > DAYS - 3) await dayOfWork(stage, day);
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
  const openLog = async (page: Page): Promise<void> => {
    await page.locator('.row').first().click();
    const log = page.getByRole('article', { name: 'Tool result: bash' });
    await log.getByRole('button', { name: /^Why/ }).click();
    await log.locator('.why').first().waitFor();
    await log.evaluate((text) => text.scrollIntoView());
    await page.evaluate('scrollBy(0, -100)');
  };
  await draw('page-overview.png', 'overview', { colorScheme: 'dark' }, async (page) => {
    await page.locator('.plot canvas').waitFor();
  });
  await draw(
    'page-conversation.png',
    'conversations',
    { colorScheme: 'light', viewport: { width: 1200, height: 780 } },
    async (page) => {
      await openLog(page);
      await page.getByText('Side by side').click();
    },
  );
  await draw(
    'page-tools.png',
    'tools',
    { colorScheme: 'light', viewport: { width: 1200, height: 760 } },
    async (page) => {
      await page.getByText('Learnt from regret').waitFor();
    },
  );
  await draw(
    'page-phone.png',
    'conversations',
    { colorScheme: 'light', viewport: { width: 390, height: 844 } },
    async (page) => {
      await openLog(page);
    },
  );
  await browser.close();
  await stage.close();
}

if (!process.argv.includes('--pictures')) await times();
else if (browserPath === null) out('no chromium here: nothing can be drawn\n');
else await pictures();
