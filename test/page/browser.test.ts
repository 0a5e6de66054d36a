import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WhyShown } from '../../src/page/shapes.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { messagesOf } from '../helpers/chat.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { keys, newKey, onFile } from '../keys/team.ts';
import { browserPath, contrastFaults, launch, narrowCells, tab } from './browser.ts';
import { addFleet, fillStore, work } from './material.ts';
import { seedLedger } from './month.ts';
import { openStage, type Stage } from './stage.ts';

const TOKEN = 'a-token-that-nobody-guesses-0123456789';
const VIEWS = ['Overview', 'Live', 'Conversations', 'Tools and kinds', 'Store', 'Settings', 'Doctor', 'Fleet'] as const;

describe.skipIf(browserPath === null)('the page in a browser', () => {
  let browser: Browser;
  let stage: Stage;
  let agent: Awaited<ReturnType<typeof work>>;
  beforeAll(async () => {
    [browser, stage] = await Promise.all([
      launch(),
      openStage({
        env: { MCP_PRUNER_ENABLE_FLEET: 'true' },
        examine: async () => [
          { level: 'ok', what: 'all is well' },
          { level: 'failure', what: '<b>broken</b>', advice: 'mend it' },
        ],
      }),
    ]);
    agent = await work(stage);
    await addFleet(stage.dbPath);
    await seedLedger(stage.dbPath, 'c');
  });
  afterAll(() => Promise.all([browser?.close(), stage?.close()]));

  /** Opens the page at a view; what goes wrong in it fails the test at its end. */
  async function visit<T>(
    path: string,
    look: (page: Page) => Promise<T>,
    { at = stage, ...options }: BrowserContextOptions & { readonly at?: Stage } = {},
  ): Promise<T> {
    const { page, wrongs } = await tab(browser, at.url, options);
    try {
      await page.goto(`${at.url}/#/${path}`);
      const found = await look(page);
      expect(wrongs).toEqual([]);
      return found;
    } finally {
      await page.context().close();
    }
  }

  const heading = (page: Page) => page.getByRole('heading', { level: 1 });
  const openConversation = async (page: Page): Promise<void> => {
    await page.getByRole('main').getByRole('link').first().click();
    await page.getByRole('article').first().waitFor();
  };
  const article = (page: Page, name: string) => page.getByRole('article', { name });

  it('shows each view, in light and dark with enough contrast, and asks nobody else', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await visit(
        '',
        async (page) => {
          for (const view of VIEWS) {
            await page.getByRole('link', { name: view, exact: true }).click();
            await expect.poll(() => heading(page).textContent()).toBe(view);
            await page.locator('.loading').waitFor({ state: 'detached' });
            expect([view, await page.title()]).toEqual([view, `${view} · mcp-pruner`]);
            expect([view, colorScheme, await contrastFaults(page)]).toEqual([view, colorScheme, []]);
          }
          await page.getByText('broken').waitFor({ state: 'detached' });
        },
        { colorScheme },
      );
    }
  });

  it('shows the fleet: children with what they say, and the blackboard, but no token and no folder', async () => {
    await visit('fleet', async (page) => {
      const main = page.getByRole('main');
      await main.getByRole('button', { name: 'Output' }).click();
      const output = page.getByRole('region', { name: 'Output of child-1' });
      await output.getByText('something broke').waitFor();
      expect(await output.innerText()).toContain('<b>hello</b>');
      expect(await main.innerText()).toMatch(/terminated\s+reviewer\s+child-1\s+7 requests/);
      expect(await page.getByRole('region', { name: 'Blackboard' }).innerText()).toMatch(/plan\s+1/);
      expect(await (await page.request.get(`${stage.url}/page/api/fleet`)).text()).not.toMatch(/a-hash|secret/);
      expect(await contrastFaults(page)).toEqual([]);
    });
  });

  it('fits a phone: nothing but tables and menus scrolls sideways', async () => {
    await visit(
      '',
      async (page) => {
        for (const view of VIEWS) {
          await page.getByRole('link', { name: view, exact: true }).click();
          await expect.poll(() => heading(page).textContent()).toBe(view);
          await page.locator('.loading').waitFor({ state: 'detached' });
          const width = await page.evaluate('document.documentElement.scrollWidth');
          expect([view, width]).toEqual([view, 360]);
        }
        await page.goto(`${stage.url}/#/conversations`);
        await openConversation(page);
        await page.getByRole('button', { name: /^Show what was cut of web_fetch/ }).click();
        await page.locator('.line').first().waitFor();
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      },
      { viewport: { width: 360, height: 740 }, hasTouch: true },
    );
  });

  it('leaves each text cell of every view at least 6 em at a width of 1024, and cuts no row off', async () => {
    await visit(
      '',
      async (page) => {
        for (const view of VIEWS) {
          await page.getByRole('link', { name: view, exact: true }).click();
          await expect.poll(() => heading(page).textContent()).toBe(view);
          await page.locator('.loading').waitFor({ state: 'detached' });
          if (view === 'Live') await page.locator('.requests > li').first().waitFor();
          if (view === 'Tools and kinds') await page.getByRole('heading', { name: 'Learnt from regret' }).waitFor();
          expect([view, await narrowCells(page)]).toEqual([view, []]);
          expect([view, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([view, 1024]);
          const scrolled = `[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length`;
          expect([view, await page.evaluate(scrolled)]).toEqual([view, 0]);
        }
        await page.goto(`${stage.url}/#/live`);
        const cut = page.locator('.requests > li').filter({ hasText: 'read_file' }).first();
        await cut.locator('summary').first().click();
        await cut.getByRole('button', { name: /^Why\?/ }).click();
        await cut.locator('.why').first().waitFor();
        const body = cut.locator('.request-body');
        expect(await body.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
      },
      { viewport: { width: 1024, height: 800 } },
    );
  });

  it('shows a request as it comes, what was cut of it, and waits while it is paused', async () => {
    await visit('live', async (page) => {
      await page.getByText('following').waitFor();
      const rows = page.locator('.requests > li');
      const before = await rows.count();
      agent.tool('bash', { command: 'npm run lint' }, serverLog(400, 3));
      await agent.send();
      await expect.poll(() => rows.count()).toBe(before + 1);
      await rows.first().locator('summary').click();
      expect(await rows.first().innerText()).toMatch(/bash \d+ of 400 lines cut/);
      await page.getByRole('button', { name: 'Pause' }).click();
      agent.say('user', 'Go on.');
      await agent.send();
      await page.getByRole('button', { name: 'Go on (1 new)' }).click();
      await expect.poll(() => rows.count()).toBe(before + 2);
      await rows.nth(1).getByRole('link', { name: 'Open its conversation' }).click();
      await expect.poll(() => heading(page).textContent()).toBe('Conversation');
      await article(page, 'Tool result: read_file src/orders.ts').waitFor();
    });
  });

  it('strikes out what was cut, shows what the model saw beside it, says why, and gives the original back', async () => {
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
          expect.stringMatching(/kept règle import : les imports restent/),
          expect.stringMatching(/cut .*au-dessous de/),
        ]),
      );
      await text.getByRole('button', { name: 'Recover the original' }).click();
      const original = text.getByRole('textbox', { name: 'The original, whole' });
      await original.waitFor();
      expect((await original.inputValue()).trimEnd()).toBe(String(agent.messages[3]?.content).trimEnd());
      expect(await contrastFaults(page)).toEqual([]);
    });
  });

  it('gives the reasons of a cut by one click, in place, and closes them again', async () => {
    await visit('conversations', async (page) => {
      await openConversation(page);
      const text = article(page, 'Tool result: read_file src/orders.ts');
      await text.getByRole('button', { name: /^Why\?/ }).click();
      await text.locator('.why.goes [lang=fr]').first().waitFor();
      expect(await heading(page).textContent()).toBe('Conversation');
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

  it('gives the reasons in the language of the markers', async () => {
    const english = await openStage({ env: { MCP_PRUNER_REASON_LANGUAGE: 'en' } });
    afterwards(() => english.close());
    await work(english);
    const read = async (path: string) => (await fetch(`${english.url}/page/api/${path}`)).json();
    const { prunes } = (await read('prunes')) as { prunes: { pruneId: string }[] };
    const why = (await read(`why?id=${prunes.at(-1)?.pruneId}`)) as WhyShown;
    expect(why.language).toBe('en');
    expect(why.regions.map(({ words }) => words)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^rule import: imports stay/),
        expect.stringMatching(/, below .*off focus/),
      ]),
    );
  });

  it('leads back from the page of a text to the view before it, or to all conversations', async () => {
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

  it('pins, unpins, stashes and deletes, the last only once it is confirmed; the next request obeys', async () => {
    const seen = async (index: number): Promise<string> => agent.sendAndSee(index);
    const name = 'Tool result: read_file src/orders.ts';
    const original = String(agent.messages[3]?.content);
    await visit('conversations', async (page) => {
      await openConversation(page);
      const text = article(page, name);
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

  it('shows hostile text as text alone', async () => {
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

  it('can be used by keyboard alone', async () => {
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
      await page.locator('.row').first().waitFor();
      await page.keyboard.press('Tab');
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
      await tabTo(/^Delete$/);
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Delete this text?' });
      await dialog.waitFor();
      expect(await focused()).toBe('Cancel');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });
  });

  it('asks for the token once, says when it is the wrong one, and then remembers', async () => {
    const locked = await openStage({ env: { MCP_PRUNER_AUTH_TOKEN: TOKEN } });
    try {
      await visit(
        'store',
        async (page) => {
          const field = page.getByLabel('Token');
          await field.fill('wrong');
          await page.keyboard.press('Enter');
          await page.getByText('This is not the token.').waitFor();
          await field.fill(TOKEN);
          await page.getByRole('button', { name: 'Sign in' }).click();
          await expect.poll(() => heading(page).textContent()).toBe('Store');
          await locked.restart();
          await page.reload();
          await expect.poll(() => heading(page).textContent()).toBe('Store');
          expect(await page.evaluate('document.cookie')).toBe('');
        },
        { at: locked },
      );
    } finally {
      await locked.close();
    }
  });

  it('shows what it cost and what was saved, of four wholes, against a control group, and why the cache missed', async () => {
    const month = await openStage();
    try {
      await work(month);
      const { requests } = (await (await fetch(`${month.url}/page/api/requests`)).json()) as {
        requests: { conversation: string }[];
      };
      const conversation = requests[0]?.conversation ?? '';
      await seedLedger(month.dbPath, conversation);
      await visit(
        '',
        async (page) => {
          const figure = (name: string) => page.locator('.figure').filter({ hasText: name }).innerText();
          await page.locator('.plot canvas').waitFor();
          expect(await figure('Saved, net')).toMatch(/\$[\d.]+\n\d+ % of what it would have cost/);
          expect(await figure('Billed')).toContain('$');
          const main = page.getByRole('main');
          for (const words of ['of the texts looked at', 'of newly billed input', 'of all input', 'of the bill'])
            await main.getByText(words).first().waitFor();
          expect(await main.getByRole('region', { name: 'Against a control group' }).innerText()).toMatch(
            /Cost of a conversation/,
          );
          expect(await main.getByRole('region', { name: 'Why the cache missed' }).innerText()).toMatch(/expired.*\$/);
          const before = await figure('Billed');
          await page.getByLabel('Project').selectOption('billing-api');
          await expect.poll(() => figure('Billed')).not.toBe(before);
          await page.locator('fieldset').getByText('Tokens').click();
          await page.getByText('The same as a table').click();
          expect(await page.getByRole('region', { name: 'By day' }).locator('tbody tr').count()).toBe(30);
          expect(await contrastFaults(page)).toEqual([]);
          await page.getByRole('link', { name: 'Tools and kinds' }).click();
          await expect
            .poll(() =>
              page.locator('tbody tr').filter({ hasText: 'web_fetch' }).filter({ hasText: 'docs' }).innerText(),
            )
            .toMatch(/docs.*recovered/s);
          await page.goto(`${month.url}/#/conversation//${conversation}`);
          await page.getByText('What its requests cost').click();
          await expect
            .poll(() => page.getByRole('region', { name: 'What its requests cost' }).innerText())
            .toMatch(/a-priced-model\s+\$0.50\s+\$0.25.*past changed \(message 4\)/s);
        },
        { at: month },
      );
    } finally {
      await month.close();
    }
  });

  it('says what to do where there is nothing yet', async () => {
    const fresh = await openStage();
    try {
      await visit(
        '',
        async (page) => {
          await page.getByText('Nothing has come through yet').waitFor();
          const start = await page.getByText('OPENAI_BASE_URL').innerText();
          for (const name of ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL', 'GOOGLE_GEMINI_BASE_URL'])
            expect(start).toContain(`${name}=${fresh.url}`);
          for (const [view, words] of [
            ['live', 'No request has come yet'],
            ['conversations', 'No conversation has been seen yet'],
            ['tools', 'No text was looked at yet'],
            ['store', 'Nothing was cut yet'],
            ['fleet', 'The fleet is off'],
            ['doctor', 'The checks run where the server was started'],
            ['conversation/p/none', 'Nothing is known of this conversation'],
            ['text/prn_0123456789AB', 'This original is not there'],
          ] as const) {
            await page.goto(`${fresh.url}/#/${view}`);
            await page.getByText(words).waitFor();
          }
          await page.goto(`${fresh.url}/#/live`);
          await page.getByText('following').waitFor();
          await work(fresh); // and the first request takes the place of the advice
          await page.locator('.requests > li').first().waitFor();
        },
        { at: fresh },
      );
    } finally {
      await fresh.close();
    }
  });

  it('says that the store is away, and shows what needs none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-no-store-'));
    const away = await openStage({ dbPath: folder });
    try {
      await visit(
        '',
        async (page) => {
          for (const view of ['Overview', 'Live', 'Conversations', 'Store'] as const) {
            await page.getByRole('link', { name: view, exact: true }).click();
            await expect.poll(() => heading(page).textContent()).toBe(view);
            await page.getByRole('main').getByText('The store is away', { exact: true }).waitFor();
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

  it('goes through a hundred thousand requests page by page', async () => {
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
          await page.goto(`${full.url}/#/conversations`);
          await expect.poll(() => page.locator('.row').count()).toBe(50);
          await page.getByRole('button', { name: 'Earlier conversations' }).click();
          await expect.poll(() => page.locator('.row').count()).toBe(100);
          await page.goto(`${full.url}/#/conversation//c-1000`);
          await expect.poll(() => page.getByRole('article').count()).toBe(100);
          await page.getByRole('button', { name: 'Earlier texts' }).click();
          await expect.poll(() => page.getByRole('article').count()).toBe(200);
          await page.goto(`${full.url}/#/store`);
          await page.getByRole('link', { name: 'prn_000000010000' }).waitFor();
          await page.getByRole('button', { name: 'Older' }).click();
          await page.getByRole('link', { name: 'prn_000000009950' }).waitFor();
          expect(await page.getByText('page 2').isVisible()).toBe(true);
          await page.goto(`${full.url}/#/overview`);
          await page.locator('.plot canvas').waitFor();
        },
        { at: full },
      );
    } finally {
      await full.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('is opened by a key where requests need one, refuses another in words, and closes when the key is revoked', async () => {
    const place = await onFile();
    const { MCP_PRUNER_DB_PATH: dbPath = '' } = place;
    const asking = await openStage({ env: { MCP_PRUNER_REQUIRE_KEY: 'true', ...place }, dbPath });
    afterwards(() => asking.close());
    const key = await newKey(place, 'web');
    const { page, wrongs } = await tab(browser, asking.url);
    await page.goto(asking.url);
    const field = page.getByLabel('Token or key');
    await field.fill(`mpk_${'A'.repeat(43)}`);
    await page.keyboard.press('Enter');
    await page.getByText('This is no key of this server.').waitFor();
    await field.fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(page.url()).not.toContain('mpk_');
    await keys(place, 'revoke', 'of web');
    await until(async () => {
      await page.reload();
      return field
        .or(page.getByRole('heading', { name: 'Overview' }))
        .first()
        .waitFor()
        .then(() => field.isVisible());
    });
    expect(wrongs).toEqual([]);
    await page.context().close();
  });
});
