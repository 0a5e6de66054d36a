import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { afterwards } from '../helpers/afterwards.ts';
import { hasPostgres, sharedDatabase } from '../helpers/postgres.ts';
import { browserPath, launch, tab } from './browser.ts';
import { addFleet, work } from './material.ts';
import { seedLedger } from './month.ts';
import { openStage, type Stage } from './stage.ts';

const VIEWS = ['Overview', 'Live', 'Conversations', 'Tools and kinds', 'Store', 'Settings', 'Doctor', 'Fleet'] as const;
/** Rules of axe-core for WCAG 2.0 to 2.2, levels A and AA. */
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** What axe-core finds wrong with a page: the rule and the place. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: axe.Result[] }>(
    `axe.run(document, { runOnly: ${JSON.stringify(WCAG)}, resultTypes: ['violations'] })`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html}`));
}

async function openView(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click();
  await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe(name);
  await page.locator('.loading').waitFor({ state: 'detached' });
}

/** Opens a conversation, a text of it with its cuts, and why. */
async function openText(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/#/conversations`);
  await page.getByRole('main').getByRole('link').first().click();
  await page
    .getByRole('button', { name: /^Show what was cut of bash/ })
    .first()
    .click();
  await page.locator('.line').first().waitFor();
  await page.getByRole('button', { name: 'Reasons', exact: true }).click();
  await page.getByText('A region is cut when').waitFor();
}

describe.skipIf(browserPath === null)('the page as axe-core sees it', () => {
  let browser: Browser;
  let stage: Stage;
  beforeAll(async () => {
    [browser, stage] = await Promise.all([
      launch(),
      openStage({
        env: { MCP_PRUNER_ENABLE_FLEET: 'true' },
        examine: async () => [{ level: 'failure', what: 'broken', advice: 'mend it' }],
      }),
    ]);
    await work(stage);
    await addFleet(stage.dbPath);
    await seedLedger(stage.dbPath, 'c');
  });
  afterAll(() => Promise.all([browser?.close(), stage?.close()]));

  it.each([
    ['light', 1280, VIEWS],
    ['dark', 360, ['Overview', 'Live', 'Tools and kinds']],
  ] as const)('breaks no rule of WCAG 2.2 AA, %s at a width of %i', async (colorScheme, width, views) => {
    const { page, wrongs } = await tab(browser, stage.url, { colorScheme, viewport: { width, height: 800 } });
    await page.goto(stage.url);
    for (const view of views) {
      await openView(page, view);
      expect([view, await faults(page)]).toEqual([view, []]);
    }
    await openText(page, stage.url);
    await page.getByText('Side by side').click();
    expect(await faults(page)).toEqual([]);
    expect(wrongs).toEqual([]);
    // it would be found
    await page.evaluate("document.querySelector('main').append(new Image())");
    expect(await faults(page)).toEqual([expect.stringMatching(/^image-alt/)]);
    await page.context().close();
  });

  it('breaks none where there is nothing to show yet, and where it asks for a key', async () => {
    const empty = await openStage({ env: { MCP_PRUNER_AUTH_TOKEN: 'a-token-that-nobody-guesses-0123456789' } });
    afterwards(() => empty.close());
    const { page } = await tab(browser, empty.url);
    await page.goto(empty.url);
    await page.locator('input').first().waitFor();
    expect(await faults(page)).toEqual([]);
    await page.locator('input').first().fill('a-token-that-nobody-guesses-0123456789');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    for (const view of VIEWS.slice(0, 4)) {
      await openView(page, view);
      expect([view, await faults(page)]).toEqual([view, []]);
    }
    await page.context().close();
  });

  describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
    const emptyDatabase = sharedDatabase();

    it('shows every view, a text with its cuts, the ledger and what was learnt', async () => {
      const server = await openStage({ env: { MCP_PRUNER_DATABASE_URL: await emptyDatabase() } });
      afterwards(() => server.close());
      await work(server);
      const { page, wrongs } = await tab(browser, server.url);
      await page.goto(server.url);
      for (const view of VIEWS.slice(0, 6)) await openView(page, view);
      await openText(page, server.url);
      expect(await page.locator('.line').count()).toBeGreaterThan(10);
      await page.goto(`${server.url}/#/tools`);
      await page.getByRole('rowheader', { name: 'read_file' }).waitFor();
      await page.goto(`${server.url}/#/store`);
      await page.getByText('a database server').waitFor();
      expect(wrongs).toEqual([]);
      await page.context().close();
    });
  });
});
