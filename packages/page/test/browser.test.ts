import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { messagesOf } from '../../../test/helpers/chat.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, type WireMessage } from '../../../test/helpers/messages.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { Agent } from '../../context/test/agent.ts';
import { LimitBooks } from '../../limits/test/provider.ts';
import { keys, newKey, onFile } from '../../team/test/team.ts';
import type { WhyShown } from '../src/shapes.ts';
import {
  axeFaults,
  browserPath,
  contrastFaults,
  empty,
  launch,
  narrowCells,
  tab,
  unevenColumns,
  type Watched,
} from './browser.ts';
import { addFleet, addHistory, fillStore, work } from './material.ts';
import { openStage, type Stage } from './stage.ts';

const TOKEN = 'a-token-that-nobody-guesses-0123456789';
/** Views that are drawn differently on a phone. */
const AXE_ON_A_PHONE: ReadonlySet<string> = new Set(['Overview', 'Live', 'Conversations', 'Tools and kinds']);
/** First words of the users of all conversations on the stage. */
const TITLE = /^(?:Why does the checkout fail|Look at )/;
/** What a view gets while the store is away. */
const FAILED = { error: { type: 'store_unavailable', message: 'the store is not available' } };
/** Whether the long suite runs, which looks at more widths, and at a large store. */
const isLong = process.env.MCP_PRUNER_TEST_LONG === 'true';
const VIEWS = ['Overview', 'Live', 'Conversations', 'Tools and kinds', 'Store', 'Settings', 'Doctor', 'Fleet'] as const;

describe.skipIf(browserPath === null)('the page in a browser', () => {
  let browser: Browser;
  let stage: Stage;
  /** A tab for all visits without options: each new one costs a process, and compiles the page once more. */
  let shared: Watched;
  let agent: Awaited<ReturnType<typeof work>>;
  /** The one of the agent. */
  let conversation = '';
  beforeAll(async () => {
    [browser, stage] = await Promise.all([
      launch(),
      openStage({
        env: { MCP_PRUNER_ENABLE: 'fleet', MCP_PRUNER_CONVERSATION_TITLES: 'true' },
        examine: async () => [
          { level: 'ok', what: 'all is well' },
          { level: 'failure', what: '<b>broken</b>', advice: 'mend it' },
        ],
      }),
    ]);
    shared = await tab(browser, stage.url);
    agent = await work(stage);
    for (const [project, client] of [
      ['billing-api', 'codex_cli_rs/0.44.0'],
      ['checkout', 'claude-cli/2.1.3 (external, cli)'],
    ] as const) {
      const other = new Agent(stage, stage.upstream, { 'x-mcp-pruner-project': project, 'user-agent': client }, [
        { role: 'user', content: `Look at ${project}.` },
      ]);
      other.tool('bash', { command: 'npm test' }, `${serverLog(300, 9)}\nno recommendations for ${project}\n`);
      await other.send();
    }
    conversation = await addHistory(stage);
    await addFleet(stage.dbPath);
    const at = { env: { MCP_PRUNER_DB_PATH: stage.dbPath }, clock: { nowMs: () => Date.now() } };
    await run(['projects', 'set', 'billing-api', '--holdout', '0'], at);
  });
  afterAll(() => Promise.all([browser?.close(), stage?.close()]));

  /** Opens the page at a view; what goes wrong in it fails the test at its end. */
  async function visit<T>(
    path: string,
    look: (page: Page) => Promise<T>,
    { at = stage, ...options }: BrowserContextOptions & { readonly at?: Stage } = {},
  ): Promise<T> {
    const isShared = at === stage && Object.keys(options).length === 0;
    const { page, wrongs } = isShared ? shared : await tab(browser, at.url, options);
    wrongs.length = 0;
    try {
      await page.goto(`${at.url}/#/${path}`);
      const found = await look(page);
      expect(wrongs).toEqual([]);
      return found;
    } finally {
      await (isShared ? empty(page) : page.context().close());
    }
  }

  const heading = (page: Page) => page.getByRole('heading', { level: 1 });
  const openConversation = async (page: Page): Promise<void> => {
    await page.locator('.talk').filter({ hasText: 'default' }).first().click();
    await page.getByRole('article').first().waitFor();
  };
  const article = (page: Page, name: string) => page.getByRole('article', { name });

  /** Waits until a view has drawn what it reads. */
  const openView = async (page: Page, view: string): Promise<void> => {
    await page.getByRole('link', { name: view, exact: true }).click();
    await expect.poll(() => heading(page).textContent()).toBe(view);
    await expect.poll(() => page.locator('.loading').count()).toBe(0);
    if (view === 'Settings') await page.getByRole('heading', { name: 'Projects with settings of their own' }).waitFor();
    if (view === 'Live') await page.locator('.requests > li').first().waitFor();
    if (view !== 'Overview') return;
    await page.locator('.plot canvas').first().waitFor();
  };
  const width = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth');

  it.each(
    (
      [
        ['dark', 390],
        ['light', 1024],
        ['light', 1440],
      ] as const
    ).filter(([, at]) => isLong || at !== 1440),
  )('shows each view, %s at a width of %i: it fits, no word is broken, axe finds nothing', async (colorScheme, at) => {
    const look = async (page: Page): Promise<void> => {
      for (const view of VIEWS) {
        await openView(page, view);
        expect([view, await page.title()]).toEqual([view, `${view} · mcp-pruner`]);
        expect([view, await width(page)]).toEqual([view, at]);
        const beyond = `[...document.querySelectorAll('tbody th')].filter((one) => one.getBoundingClientRect().right > innerWidth).length`;
        expect([view, await page.evaluate(beyond)]).toEqual([view, 0]);
        const scrolled = `[...document.querySelectorAll('.scroll')].filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth).length`;
        if (at === 390) expect([view, await page.evaluate(scrolled)]).toEqual([view, 0]);
        if (at === 1024) {
          expect([view, await narrowCells(page)]).toEqual([view, []]);
          expect([view, await unevenColumns(page)]).toEqual([view, []]);
          for (const wide of view === 'Overview' ? [1200, 1440, at] : [at]) {
            await page.setViewportSize({ width: wide, height: 800 });
            expect([view, wide, await page.evaluate(scrolled)]).toEqual([view, wide, 0]);
          }
          if (isLong) expect([view, await contrastFaults(page)]).toEqual([view, []]); // axe sees it in the light theme
        } else if (at === 1440 || !isLong || AXE_ON_A_PHONE.has(view))
          expect([view, await axeFaults(page)]).toEqual([view, []]);
        else expect([view, await contrastFaults(page)]).toEqual([view, []]);
      }
      await page.goto(`${stage.url}/#/conversations`);
      await openConversation(page);
      await page.locator('.timeline svg').waitFor();
      await page.getByRole('button', { name: /^Show what was cut of web_fetch/ }).click();
      await page.locator('.line').first().waitFor();
      expect(await width(page)).toBe(at);
      if (at === 1024) return;
      await page.getByText('Side by side').click();
      expect(await axeFaults(page)).toEqual([]);
    };
    await visit('', look, { colorScheme, viewport: { width: at, height: 800 }, hasTouch: at < 500 });
  });

  /** The views that the menu has, so that a new view is looked at without a change here. */
  const viewsOf = (page: Page): Promise<string[]> =>
    page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts();

  describe.each((['light', 'dark'] as const).filter((theme) => isLong || theme === 'light'))(
    'in the %s theme',
    (colorScheme) => {
      const widths = [390, 800, 1400].filter((at) => isLong || at === 1400);

      /** Looks at views at all widths, each as soon as it has drawn what it reads. */
      async function faultsOf(page: Page, isLookedAt = (_view: string) => true): Promise<string[]> {
        const views = await viewsOf(page);
        expect(views.length).toBeGreaterThan(6);
        const faults: string[] = [];
        for (const view of views.filter(isLookedAt)) {
          await page.getByRole('link', { name: view, exact: true }).click();
          await expect.poll(() => page.title()).toBe(`${view} · mcp-pruner`);
          await expect.poll(() => page.locator('.loading').count()).toBe(0);
          faults.push(...(await faultsAt(page)).map((fault) => `${view} ${fault}`));
        }
        return faults;
      }

      async function faultsAt(page: Page): Promise<string[]> {
        const faults: string[] = [];
        for (const at of widths) {
          await page.setViewportSize({ width: at, height: 800 });
          faults.push(...(await axeFaults(page)).map((fault) => `${at} ${fault}`));
          const cut = `[...document.querySelectorAll('main th, main td')].filter((one) => one.closest('.scroll') === null && one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.closest('section')?.ariaLabel + ': ' + one.innerText)`;
          faults.push(...(await page.evaluate<string[]>(cut)).map((cell) => `${at} cut off: ${cell}`));
          if ((await width(page)) > at) faults.push(`${at} too wide: ${await width(page)}`);
        }
        return faults;
      }

      it('axe finds nothing on any view, nor on an open conversation', async () => {
        const look = async (page: Page): Promise<void> => {
          await heading(page).waitFor();
          expect(await faultsOf(page)).toEqual([]);
          await page.goto(`${stage.url}/#/conversation//${conversation}`);
          await page.getByRole('article').first().waitFor();
          expect(await faultsAt(page)).toEqual([]);
        };
        await visit('', look, { colorScheme });
      });

      it('axe finds nothing on any view of an empty store', async () => {
        const at = await openStage();
        afterwards(() => at.close());
        const look = async (page: Page): Promise<void> => {
          await heading(page).waitFor();
          expect(await faultsOf(page)).toEqual([]);
        };
        await visit('', look, { at, colorScheme });
      });

      it('axe finds nothing on any view whose request fails', async () => {
        const look = async (page: Page): Promise<void> => {
          await heading(page).waitFor();
          await page.route('**/page/api/**', (route) => route.fulfill({ status: 503, json: FAILED }));
          // a few parts show failures in all views
          expect(await faultsOf(page, (view) => isLong || AXE_ON_A_PHONE.has(view))).toEqual([]);
          expect(await page.getByRole('alert').count()).toBeGreaterThan(0);
          await page.goto(`${stage.url}/#/conversation//${conversation}`);
          await page.getByRole('alert').first().waitFor();
          expect(await faultsAt(page)).toEqual([]);
        };
        await visit('', look, { colorScheme });
      });
    },
  );

  it('uses the width at 1440: plots stand side by side', async () => {
    await visit(
      '',
      async (page) => {
        await page.locator('.plot canvas').nth(1).waitFor();
        const tops = await page
          .locator('.wide-left > .card')
          .evaluateAll((cards) => cards.map((card) => card.getBoundingClientRect().top));
        expect(new Set(tops).size).toBe(1);
        const right = await page.locator('.wide-left').evaluate((box) => box.getBoundingClientRect().right);
        expect(right).toBeGreaterThan(1_360);
        // a fault would be found
        await page.evaluate("document.querySelector('main').append(new Image())");
        expect(await axeFaults(page)).toEqual([expect.stringMatching(/^image-alt/)]);
      },
      { viewport: { width: 1440, height: 900 } },
    );
  });

  it('finds a conversation by words, filters and sort order, which are stored in the URL', async () => {
    await visit('conversations', async (page) => {
      const rows = page.locator('.talks > li');
      await expect.poll(() => rows.count()).toBe(3);
      expect(await rows.last().innerText()).toMatch(/Why does the checkout fail.*default.*gpt-test/s);
      await page.getByLabel('project').selectOption('billing-api');
      await expect.poll(() => rows.count()).toBe(1);
      expect(page.url()).toContain('?project=billing-api');
      await page.reload();
      await expect.poll(() => rows.count()).toBe(1);
      await page.getByLabel('project').selectOption('');
      await page.getByLabel('client').selectOption('codex_cli_rs');
      await expect.poll(() => rows.count()).toBe(1);
      await page.getByLabel('client').selectOption('');
      await page.getByLabel('Order').selectOption('dollars');
      await expect.poll(() => rows.first().innerText()).toMatch(/\$0.53/);
      await page.getByRole('searchbox').fill('recommendations');
      await expect.poll(() => rows.count()).toBe(2);
      await expect.poll(() => rows.first().innerText()).toMatch(/bash|lines \d+/);
      await rows.first().getByRole('link').first().click();
      await expect.poll(() => heading(page).textContent()).toMatch(TITLE);
      await page.getByRole('link', { name: 'All conversations' }).click();
      await expect.poll(() => rows.count()).toBe(2);
      await page.getByRole('searchbox').fill('nothing has these words');
      await page.getByRole('button', { name: 'Clear all filters' }).click();
      await expect.poll(() => rows.count()).toBe(3);
      expect(await contrastFaults(page)).toEqual([]);
    });
  });

  it('shows a conversation as a timeline, with the reasons for a cut on one click', async () => {
    await visit(`conversation//${conversation}`, async (page) => {
      const card = page
        .getByRole('region', { name: 'Context by request' })
        .or(page.locator('.card').filter({ hasText: 'Context by request' }));
      await card.locator('.timeline svg .column').first().waitFor();
      expect(await card.locator('.column').count()).toBeGreaterThan(2);
      expect(await card.locator('rect[fill="url(#hatch)"]').count()).toBeGreaterThan(0);
      expect(await card.locator('.happened').innerText()).toMatch(/codex compacted it at .* tokens.*1 recovery/s);
      const request = card.getByRole('slider', { name: 'Request' });
      await request.fill('0');
      await card.getByText('Request 1 of').waitFor();
      await request.focus();
      await page.keyboard.press('End');
      await expect
        .poll(() => card.locator('.timeline-detail').innerText())
        .toMatch(/\$0.50 instead of \$0.75.*past changed \(message 4\)/s);
      await request.fill('1');
      await card
        .getByRole('button', { name: /^Why\?/ })
        .first()
        .click();
      await card.locator('.why.goes').first().waitFor();
      await card
        .getByRole('button', { name: /^Close/ })
        .first()
        .click();
      await card.locator('.why').first().waitFor({ state: 'detached' });
      await card.getByRole('button', { name: 'Go to its texts' }).click();
      expect(await page.evaluate('document.activeElement.textContent')).toMatch(/^Request \d/);
      await card.getByText('The same as a table').click();
      const table = page.getByRole('region', { name: 'What its requests cost' });
      await expect.poll(() => table.innerText()).toMatch(/a-priced-model\s+\$0.500\s+\$0.250/);
      expect(await unevenColumns(page)).toEqual([]);
      expect(await axeFaults(page)).toEqual([]);
    });
  });

  it('shows the limits of a subscription, and the share and the context of a conversation', async () => {
    const { answer } = stage.upstream;
    const books = new LimitBooks(Date.now());
    const usage = { input_tokens: 100, cache_read_input_tokens: 83_900, output_tokens: 20 };
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-opus-4-5', content: [], usage };
    stage.upstream.answer = (_request, res) => json(res, 200, message, books.anthropic());
    const begin: WireMessage[] = [{ role: 'user', content: 'Begin.' }];
    const goOn: WireMessage[] = [
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: 'Go on.' },
    ];
    for (const messages of [begin, [...begin, ...goOn]]) {
      books.use(42);
      const body = messagesBody(messages, { model: 'claude-opus-4-5' });
      const headers = { 'x-claude-code-session-id': 'of-a-plan', 'x-mcp-pruner-project': 'plan' };
      await (await fetch(`${stage.url}/v1/messages`, { method: 'POST', headers, body: new Uint8Array(body) })).text();
    }
    stage.upstream.answer = answer;
    await visit('', async (page) => {
      const strip = page.locator('.card').filter({ hasText: 'Limits of subscriptions' });
      await expect
        .poll(() => strip.innerText())
        .toMatch(/Claude 5h\s+84 % used.*most by session of-a-pla \(42\.0 %\)/s);
    });
    const read = await (await fetch(`${stage.url}/page/api/requests?project=plan`)).json();
    const [{ conversation: name }] = (read as { requests: [{ conversation: string }] }).requests;
    await visit(`conversation//${name}`, async (page) => {
      await page.getByText("Of the subscription's limits it used 42.0 % of 5h").waitFor();
      await page
        .getByText(/^Its context holds 84,000 tokens.*The cache has it for another \d min.*The next turn costs \$0\.04/)
        .waitFor();
    });
  });

  it('is navigated by shortcuts, which are listed and can be switched off', async () => {
    await visit('', async (page) => {
      await page.locator('.plot canvas').first().waitFor();
      await page.keyboard.press('?');
      const keys = page.getByRole('dialog', { name: 'Keys' });
      await keys.waitFor();
      expect(await axeFaults(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await keys.waitFor({ state: 'detached' });
      await page.keyboard.press('g');
      await page.keyboard.press('c');
      await expect.poll(() => heading(page).textContent()).toBe('Conversations');
      await page.locator('.talk').nth(1).waitFor();
      await page.keyboard.press('j');
      await page.keyboard.press('j');
      await page.keyboard.press('k');
      expect(
        await page
          .locator('.talk')
          .first()
          .evaluate((row) => row.matches(':focus')),
      ).toBe(true);
      await page.keyboard.press('/');
      await page.keyboard.type('gl?');
      expect(await page.getByRole('searchbox').inputValue()).toBe('gl?');
      await page.getByRole('searchbox').fill('');
      await page.getByRole('button', { name: '? Keys' }).click();
      await page.getByLabel('Enable single-key shortcuts').uncheck();
      await page.keyboard.press('Escape');
      await page.keyboard.press('g');
      await page.keyboard.press('l');
      expect(await heading(page).textContent()).toBe('Conversations');
    });
  });

  it('shows fleet children, a drawn graph, values and a plan tree, and cancels the plan after confirmation', async () => {
    const graph = { graph_id: 'review', nodes: [{ id: 'tests' }, { id: 'summary', label: 'Summary' }], edges: [] };
    const operations = [
      { op: 'add_edge', edge: { from: 'tests', to: 'summary' } },
      { op: 'set_node_attribute', id: 'tests', key: 'state', value: 'done' },
    ];
    await stage.call('graph_mutate', { graph, operations });
    const task = { kind: 'task', id: 'pause', node_id: 'tests', tool: 'wait', input: { ms: 60_000 } };
    const root = { kind: 'sequence', children: [{ kind: 'task', node_id: 'tests', tool: 'noop' }, task] };
    await stage.call('plan_run_bt', { tree: { id: 'slow', root }, run_id: 'slow-plan', background: true });
    await visit('fleet', async (page) => {
      const main = page.getByRole('main');
      await main.getByRole('button', { name: 'Output' }).click();
      const output = page.getByRole('region', { name: 'Output of child-1' });
      await output.getByText('something broke').waitFor();
      expect(await output.innerText()).toContain('<b>hello</b>');
      expect(await main.innerText()).toMatch(/terminated\s+reviewer\s+child-1\s+7 requests/);
      await main.locator('.drawing .node.done').waitFor();
      expect(await main.locator('.drawing .edge').count()).toBe(1);
      await expect
        .poll(() => page.getByRole('region', { name: 'Blackboard plan' }).innerText())
        .toMatch(/plan:next\s+1/);
      const plan = page.getByRole('region', { name: 'Plan slow-plan' });
      await expect
        .poll(() => plan.innerText())
        .toMatch(/sequence\s+running\s+task noop tests\s+success\s+task pause\s+running/);
      expect(await axeFaults(page)).toEqual([]);
      await plan.getByRole('button', { name: 'Cancel plan slow-plan' }).click();
      const dialog = page.getByRole('dialog', { name: 'Cancel plan slow-plan?' });
      await dialog.getByRole('button', { name: 'Cancel', exact: true }).first().click();
      await dialog.waitFor({ state: 'detached' });
      expect(await plan.isVisible()).toBe(true);
      await plan.getByRole('button', { name: 'Cancel plan slow-plan' }).click();
      await dialog.locator('.danger').click();
      await page.getByRole('status').filter({ hasText: 'Cancel: plan slow-plan.' }).waitFor();
      await until(async () => {
        await page.getByRole('button', { name: 'Refresh' }).click();
        return (await plan.count()) === 0;
      });
      expect(await (await page.request.get(`${stage.url}/page/api/fleet`)).text()).not.toMatch(/a-hash|secret/);
    });
  });

  it('shows each request as it arrives, with its cuts, and holds back new requests while paused', async () => {
    await visit('live', async (page) => {
      await page.getByText('following').waitFor();
      const rows = page.locator('.requests > li');
      const before = await rows.count();
      agent.tool('bash', { command: 'npm run lint' }, serverLog(400, 3));
      await agent.send();
      await expect.poll(() => rows.count()).toBe(before + 1);
      await page.getByRole('heading', { name: 'Today' }).waitFor();
      await rows.first().locator('summary').click();
      expect(await rows.first().innerText()).toMatch(/default.*gpt-test.*bash \d+ of 400 lines cut/s);
      await page.getByRole('button', { name: 'Pause' }).click();
      agent.say('user', 'Go on.');
      await agent.send();
      await page.getByRole('button', { name: 'Go on (1 new)' }).click();
      await expect.poll(() => rows.count()).toBe(before + 2);
      await rows.nth(1).getByRole('link', { name: 'Open its conversation' }).click();
      await expect.poll(() => heading(page).textContent()).toMatch(TITLE);
      await article(page, 'Tool result: read_file src/orders.ts').waitFor();
    });
  });

  it('strikes out cuts, shows what the model saw and why, and downloads the original', async () => {
    const [, , , read] = messagesOf(stage.upstream.requests[0]?.body ?? Buffer.alloc(0));
    const sent = String(read?.content);
    await visit('conversations', async (page) => {
      await openConversation(page);
      const text = article(page, 'Tool result: read_file src/orders.ts');
      await text.getByRole('button', { name: /^Show what was cut/ }).click();
      const struck = text.locator('del .line code');
      await struck.first().waitFor();
      await text.getByRole('button', { name: /more lines of/ }).click();
      await text.getByRole('button', { name: /more lines of/ }).waitFor({ state: 'detached' });
      expect(await page.evaluate('getComputedStyle(document.querySelector("del .line code")).textDecorationLine')).toBe(
        'line-through',
      );
      await text.getByText('What the model saw', { exact: true }).first().click();
      const shown = await text
        .locator('.lines .line code')
        .evaluateAll((lines) => lines.map((line) => (line.textContent ?? '').replace(/^The model saw: /, '')));
      expect(`${shown.join('\n')}\n`).toBe(sent.endsWith('\n') ? sent : `${sent}\n`);
      await text.getByText('Side by side').click();
      expect(await text.locator('.pair.cut .right .marker').count()).toBeGreaterThan(0);
      await text.getByRole('button', { name: 'Reasons' }).click();
      await text.locator('.why.goes').first().waitFor();
      expect(await text.locator('.why').allInnerTexts()).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/kept rule import: imports stay/),
          expect.stringMatching(/cut .*below .*marked "off focus"$/),
        ]),
      );
      await text.getByRole('button', { name: 'Recover the original' }).click();
      const original = text.getByRole('textbox', { name: 'The original, whole' });
      await original.waitFor();
      expect((await original.inputValue()).trimEnd()).toBe(String(agent.messages[3]?.content).trimEnd());
      expect(await contrastFaults(page)).toEqual([]);
    });
  });

  it('shows the reasons for a cut in place on one click, and hides them again', async () => {
    await visit('conversations', async (page) => {
      await openConversation(page);
      const text = article(page, 'Tool result: read_file src/orders.ts');
      await text.getByRole('button', { name: /^Why\?/ }).click();
      await text.locator('.why.goes').first().waitFor();
      expect(await heading(page).textContent()).toMatch(TITLE);
      await text.getByRole('button', { name: /^Close what/ }).click();
      await text.locator('.why').first().waitFor({ state: 'detached' });
      await page.goto(`${stage.url}/#/live`);
      const row = page.locator('.requests > li').filter({ hasText: 'read_file' }).first();
      await row.locator('summary').click();
      await row
        .getByRole('button', { name: /^Why\?/ })
        .first()
        .click();
      await row.locator('.why.goes').first().waitFor();
      expect(await heading(page).textContent()).toBe('Live');
      expect(await contrastFaults(page)).toEqual([]);
      await row
        .getByRole('button', { name: /^Close/ })
        .first()
        .click();
      await row.locator('.why').first().waitFor({ state: 'detached' });
    });
  });

  it('links back from the page of a text to the previous view, or to all conversations', async () => {
    await visit('store', async (page) => {
      await page.getByRole('region', { name: 'Originals' }).getByRole('link').first().click();
      await expect.poll(() => heading(page).textContent()).toBe('Text');
      await page.locator('.why').first().waitFor();
      const menu = page.getByRole('navigation').getByRole('link', { name: 'Conversations', exact: true });
      expect(await menu.getAttribute('aria-current')).toBe('page');
      const id = page.url().split('/').at(-1);
      await page.getByRole('link', { name: 'Back', exact: true }).click();
      await expect.poll(() => heading(page).textContent()).toBe('Store');
      await page.goto('about:blank');
      await page.goto(`${stage.url}/#/text/${id}`);
      await page.getByRole('link', { name: 'All conversations' }).click();
      await expect.poll(() => heading(page).textContent()).toBe('Conversations');
    });
  });

  it('pins, unpins, stashes and, after confirmation, deletes texts, as the next request shows', async () => {
    const seen = async (index: number): Promise<string> => agent.sendAndSee(index);
    const name = 'Tool result: read_file src/orders.ts';
    const original = String(agent.messages[3]?.content);
    await visit('conversations', async (page) => {
      await openConversation(page);
      const text = article(page, name);
      await text.getByText('Change').click();
      const press = async (button: RegExp, said: RegExp): Promise<void> => {
        await text.getByRole('button', { name: button }).click();
        await page.getByRole('status').filter({ hasText: said }).waitFor();
      };
      await press(/^Pin /, /Pinned/);
      await text.getByText('pinned', { exact: true }).waitFor();
      expect(await seen(3)).toBe(original);
      await press(/^Unpin /, /Unpinned/);
      await press(/^Stash /, /Stashed/);
      await text.getByText('stashed', { exact: true }).waitFor();
      expect((await seen(3)).trimEnd().split('\n')).toHaveLength(1);
      await text.getByRole('button', { name: /^Show what was cut/ }).click(); // what is stashed can still be seen
      await text.locator('.line').first().waitFor();
      await text.getByRole('button', { name: /^Delete / }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await text.getByText('deleted', { exact: true }).count()).toBe(0);
      await text.getByRole('button', { name: /^Delete / }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
      await page
        .getByRole('status')
        .filter({ hasText: /Deleted/ })
        .waitFor();
      await text.getByText('deleted', { exact: true }).waitFor();
      expect(await text.getByRole('button').count()).toBe(0);
      expect(await seen(3)).toMatch(/^⟦PRUNÉ/);
    });
  });

  it('shows hostile text only as plain text', async () => {
    await visit('conversations', async (page) => {
      await openConversation(page);
      const text = article(page, 'Tool result: web_fetch');
      await text.getByRole('button', { name: /^Show what was cut/ }).click();
      const lines = text.locator('.lines');
      await lines.waitFor();
      const long = text.getByRole('button', { name: /more characters/ });
      for (let parts = 0; parts < 3 && (await long.count()) === 0; parts++) {
        await text.getByRole('button', { name: /more lines? of/ }).click();
        await page.waitForFunction('document.querySelectorAll(".line").length > 0');
      }
      expect(await lines.innerText()).toContain('<script>window.hit = 1');
      expect(await lines.innerText()).toContain('مرحبا');
      await long.first().click();
      expect(await page.evaluate('window.hit')).toBeUndefined();
      expect(await page.title()).toBe('Conversations · mcp-pruner');
      expect(await lines.locator('script, img, iframe, svg, b').count()).toBe(0);
    });
  });

  it('can be used with the keyboard alone', async () => {
    await visit('', async (page) => {
      await heading(page).waitFor();
      const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()');
      const tabTo = async (name: RegExp, most = 40): Promise<void> => {
        for (let i = 0; i < most && !name.test(await focused()); i++) await page.keyboard.press('Tab');
        expect(await focused()).toMatch(name);
      };
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Skip to the content');
      await tabTo(/^Conversations$/);
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
      await page.keyboard.press('Enter');
      await expect.poll(focused).toBe('Conversations'); // the heading of the view has the focus
      await page.locator('.talk').first().focus();
      await page.keyboard.press('Enter');
      await article(page, 'Tool result: bash').first().waitFor();
      await tabTo(/^Show what was cut of bash/);
      await page.keyboard.press('Enter');
      await page.locator('.line').first().waitFor();
      for (let i = 0; i < 20 && (await page.evaluate('document.activeElement.type')) !== 'radio'; i++)
        await page.keyboard.press('Tab');
      await page.keyboard.press('ArrowRight');
      await page.locator('.lines.view-both').waitFor();
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Reasons');
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.classList.contains("lines")')).toBe(true);
      await tabTo(/^Change/);
      await page.keyboard.press('Enter');
      await tabTo(/^Delete$/);
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Delete this text?' });
      await dialog.waitFor();
      expect(await focused()).toBe('Cancel');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });
  });

  it('shows cost, one saving that adds up, the control group, and the causes of cache misses', async () => {
    await visit('', async (page) => {
      const figure = (name: string) => page.locator('.figure').filter({ hasText: name }).innerText();
      await page.locator('.plot canvas').first().waitFor();
      await expect
        .poll(() => page.locator('.sentence').innerText())
        .toMatch(
          /^2[78] days: \$[\d.]+ spent, \$[\d.]+ saved; the lines of \d+ cuts were needed later.*; 1 compaction by clients\.$/,
        );
      const saved = await figure('Saved');
      const [net = 0, gross = 0, regret = 0] = [...saved.matchAll(/\$([\d.]+)/g)].map(([, usd]) => Number(usd));
      expect(saved).toMatch(
        /^Saved\n\$[\d.]+\n\d+ % of what it would have cost: \$[\d.]+ by cuts.*, less \$[\d.]+ for/s,
      );
      expect(gross - regret).toBeCloseTo(net, 1);
      expect(await page.locator('.sentence').innerText()).toContain(`$${net.toFixed(2)} saved`);
      const main = page.getByRole('main');
      await page.getByText('The same cuts as shares of four totals').click();
      for (const words of ['of the texts examined', 'of newly billed input', 'of all input', 'of the bill'])
        await main.getByText(words).first().waitFor();
      expect(await main.getByRole('region', { name: 'Against a control group' }).innerText()).toMatch(
        /Cost of a conversation/,
      );
      expect(await main.getByRole('region', { name: 'Why the cache missed' }).innerText()).toMatch(/expired.*\$/s);
      expect(await main.locator('.tool-bars').innerText()).toMatch(/web_fetch\s+\$[\d.]+\s+\$[\d.]+ regret, \d+ texts/);
      expect(await main.locator('.spark').count()).toBeGreaterThan(3);
      const canvas = page.locator('.plot .u-over').first();
      await canvas.hover();
      await expect.poll(() => page.locator('.readout').first().textContent()).toMatch(/^\w+ \d+: /);
      const before = await figure('Billed');
      await page.getByRole('combobox', { name: 'Project' }).selectOption('billing-api');
      await expect.poll(() => figure('Billed')).not.toBe(before);
      expect(page.url()).toContain('project=billing-api');
      await page.locator('fieldset').getByText('Tokens').click();
      await page.getByText('The same as a table').click();
      expect(await page.getByRole('region', { name: 'By day' }).locator('tbody tr').count()).toSatisfy(
        (days: number) => days >= 27 && days <= 29,
      );
      expect(await contrastFaults(page)).toEqual([]);
      await page.goto(`${stage.url}/#/tools?days=90&project=checkout`);
      await expect
        .poll(() => page.locator('tbody tr').filter({ hasText: 'web_fetch' }).filter({ hasText: 'docs' }).innerText())
        .toMatch(/docs.*recovered/s);
    });
  });

  it('requests the token once, gives advice in empty views, and is always in English', async () => {
    const fresh = await openStage({ env: { MCP_PRUNER_AUTH_TOKEN: TOKEN } });
    afterwards(() => fresh.close());
    const look = async (page: Page): Promise<void> => {
      const field = page.getByLabel('Token');
      await field.fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('The token is wrong.').waitFor();
      expect(await axeFaults(page)).toEqual([]);
      await field.fill(TOKEN);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Nothing has come through yet').waitFor();
      await fresh.restart();
      await page.reload();
      await page.getByText('Nothing has come through yet').waitFor();
      expect(await page.evaluate('document.cookie')).toBe('');
      expect(await axeFaults(page)).toEqual([]);
      const start = await page.getByText('OPENAI_BASE_URL').innerText();
      for (const name of ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'])
        expect(start).toContain(`${name}=${fresh.url}`);
      for (const [view, words] of [
        ['live', 'No request has arrived yet'],
        ['conversations', 'No conversation has been seen yet'],
        ['tools', 'No text has been examined yet'],
        ['store', 'Nothing has been cut yet'],
        ['fleet', 'The fleet is off'],
        ['doctor', 'The checks run where the server was started'],
        ['nonsense', 'There is no such page'],
        ['conversation/p/none', 'This conversation is unknown'],
        ['text/prn_0123456789AB', 'This original is not available'],
      ] as const) {
        await page.goto(`${fresh.url}/#/${view}`);
        await page.getByText(words).waitFor();
      }
      await page.goto(`${fresh.url}/#/live`);
      await page.getByText('following').waitFor();
      await work(fresh); // and the first request takes the place of the advice
      await page.locator('.requests > li').first().waitFor();
      const read = async (path: string) => (await page.request.get(`${fresh.url}/page/api/${path}`)).json();
      const { prunes } = (await read('prunes')) as { prunes: { pruneId: string }[] };
      const why = (await read(`why?id=${prunes.at(-1)?.pruneId}`)) as WhyShown;
      expect(why.regions.map(({ words }) => words)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^rule import: imports stay/),
          expect.stringMatching(/, below .*off focus/),
        ]),
      );
    };
    await visit('', look, { at: fresh });
  });

  it('reports that the store is unavailable, and shows everything else', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-no-store-'));
    const away = await openStage({ dbPath: folder });
    try {
      await visit(
        '',
        async (page) => {
          for (const view of ['Overview', 'Live', 'Conversations', 'Store'] as const) {
            await page.getByRole('link', { name: view, exact: true }).click();
            await expect.poll(() => heading(page).textContent()).toBe(view);
            await page.getByRole('main').getByText('The store is not available', { exact: true }).waitFor();
          }
          await page.getByRole('link', { name: 'Settings', exact: true }).click();
          await page.getByLabel('Search settings').fill('db_path');
          await expect.poll(() => page.locator('.settings').innerText()).toContain(folder);
        },
        { at: away },
      );
    } finally {
      await away.close();
      rmSync(folder, { recursive: true });
    }
  });

  it.runIf(isLong)('pages through a hundred thousand requests', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-full-'));
    const dbPath = join(folder, 'store.db');
    await fillStore(dbPath, 100_000, 10_000);
    const full = await openStage({ dbPath, env: { MCP_PRUNER_MAX_EVENTS: '1000000' } });
    try {
      await visit(
        'live',
        async (page) => {
          const rows = page.locator('.requests > li');
          await expect.poll(() => rows.count()).toBe(50);
          expect(await rows.first().innerText()).toContain('model-99999');
          await page.getByRole('button', { name: 'Earlier requests' }).click();
          await expect.poll(() => rows.count()).toBe(100);
          expect(await rows.last().textContent()).toContain('model-99900');
          await page.getByLabel('Only requests').selectOption('fault');
          await page.getByText('No request matches the filters so far.').waitFor();
          await page.goto(`${full.url}/#/conversations?sort=dollars`);
          await expect.poll(() => page.locator('.talk').count()).toBe(50);
          expect(await page.locator('.talk').first().innerText()).toContain('$99.95');
          await page.getByRole('button', { name: 'More conversations' }).click();
          await expect.poll(() => page.locator('.talk').count()).toBe(100);
          await page.goto(`${full.url}/#/conversation//c-1000`);
          await page.locator('.timeline svg .column').nth(99).waitFor();
          await expect.poll(() => page.getByRole('article').count()).toBe(100);
          await page.getByRole('button', { name: 'Earlier texts' }).click();
          await expect.poll(() => page.getByRole('article').count()).toBe(200);
          await page.goto(`${full.url}/#/store`);
          await page.getByRole('link', { name: 'prn_000000010000' }).waitFor();
          await page.getByRole('button', { name: 'Older' }).click();
          await page.getByRole('link', { name: 'prn_000000009950' }).waitFor();
          expect(await page.getByText('page 2').isVisible()).toBe(true);
          await page.goto(`${full.url}/#/overview`);
          await page.locator('.plot canvas').first().waitFor();
        },
        { at: full },
      );
    } finally {
      await full.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('is opened by a required key, refuses an invalid key with a message, and closes on revocation', async () => {
    const place = await onFile();
    const { MCP_PRUNER_DB_PATH: dbPath = '' } = place;
    const asking = await openStage({ env: { MCP_PRUNER_REQUIRE_KEY: 'true', ...place }, dbPath });
    afterwards(() => asking.close());
    const key = await newKey(place, '*', '--dollars-per-month', '5');
    const { page, wrongs } = await tab(browser, asking.url);
    await page.goto(asking.url);
    const field = page.getByLabel('Token or key');
    await field.fill(`mpk_${'A'.repeat(43)}`);
    await page.keyboard.press('Enter');
    await page.getByText('This key is not valid here.').waitFor();
    await field.fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(page.url()).not.toContain('mpk_');
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByText('$0.00 of $5.00 a month').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await keys(place, 'revoke', 'of *');
    await until(async () => {
      await page.reload();
      return field
        .or(page.getByRole('heading', { level: 1, name: 'Keys' }))
        .first()
        .waitFor()
        .then(() => field.isVisible());
    });
    expect(wrongs).toEqual([]);
    await page.context().close();
  });
});
