import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** A browser of this machine, or `null` where there is none. */
export const browserPath = PLACES.find((path) => existsSync(path)) ?? null;

if (browserPath === null) {
  process.stderr.write(
    'no chromium here (apt-get install chromium): the tests of the page in a browser are left out\n',
  );
}

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: browserPath ?? '',
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

/** What a page did that it must not: errors, and requests to anywhere else. */
export interface Watched {
  readonly page: Page;
  readonly wrongs: string[];
}

/** Opens a tab that notes what goes wrong in it. */
export async function tab(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Watched> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // a busy machine takes long
  const wrongs: string[] = [];
  page.on('pageerror', (error) => wrongs.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('Failed to load resource')) wrongs.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) wrongs.push(`asked ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    wrongs.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { page, wrongs };
}

/** Leaves the page and forgets what it stored. */
export async function empty(page: Page): Promise<void> {
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.mouse.move(0, 0);
  await page.goto('about:blank');
}

/**
 * Texts on the page that stand out too little from what is behind them: 4.5 to 1, and 3 to 1 for large letters, as WCAG
 * 2.2 AA asks. Colours are those that are computed; what is switched off and what nobody sees does not count.
 */
export function contrastFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => {
      const part = (c) => { const s = c / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = rgba(getComputedStyle(at).backgroundColor);
        if (colour[3] > 250) return colour;
      }
      return [255, 255, 255, 255];
    };
    const faults = new Set();
    for (const element of document.querySelectorAll('body *')) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
      if (!own || element.closest('.unseen, :disabled, .toast, option, noscript') || !element.checkVisibility()) continue;
      const style = getComputedStyle(element);
      const [a, b] = [light(rgba(style.color)), light(behind(element))].sort((x, y) => y - x);
      const size = parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < (isLarge ? 3 : 4.5)) faults.add(element.className + ' ' + element.textContent.slice(0, 30) + ' ' + ratio.toFixed(2));
    }
    return [...faults];
  })()`);
}

/** Rules of axe-core for WCAG 2.0 to 2.2, levels A and AA. */
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** What axe-core finds wrong with a page: the rule and the place. All content must be in a landmark (`region`) as well. */
export async function axeFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: axe.Result[] }>(
    `axe.run(document, { runOnly: ${JSON.stringify(WCAG)}, rules: { region: { enabled: true } }, resultTypes: ['violations'] })`,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html}`));
}

/** Columns whose dollars have different numbers of decimals, with these: of tables, and of lists that look like tables. */
export function unevenColumns(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const faults = [];
    const check = (name, cells) => {
      const amounts = cells.flatMap((cell) => /\\$[\\d,]+(\\.\\d+)?/.exec(cell.innerText)?.[0] ?? []);
      if (new Set(amounts.map((amount) => (amount.split('.')[1] ?? '').length)).size > 1)
        faults.push(name + ': ' + [...new Set(amounts)].join(' '));
    };
    for (const table of document.querySelectorAll('main table')) {
      const rows = [...table.tBodies].flatMap(({ rows }) => [...rows]);
      for (let i = 0; i < Math.max(0, ...rows.map(({ cells }) => cells.length)); i++)
        check(table.tHead?.rows[0]?.cells[i]?.textContent ?? String(i), rows.flatMap(({ cells }) => cells[i] ?? []));
    }
    for (let i = 2; i < 5; i++) check('conversations ' + i, [...document.querySelectorAll('.talk > :nth-child(' + i + ')')]);
    for (const list of ['.tool-bars .amount', '.request-cost']) check(list, [...document.querySelectorAll(list)]);
    return faults;
  })()`);
}

/** Text cells of tables and of the Live list with less than 6 em for their content, and Live rows that are cut off. */
export function narrowCells(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const faults = [];
    for (const cell of document.querySelectorAll('main th, main td, .requests summary > span')) {
      if (cell.matches('.amount, .bars') || cell.textContent.trim() === '' || !cell.checkVisibility()) continue;
      const style = getComputedStyle(cell);
      const width = cell.getBoundingClientRect().width - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const em = width / parseFloat(style.fontSize);
      if (em < 6) faults.push(cell.textContent.slice(0, 30) + ': ' + em.toFixed(1) + ' em');
    }
    for (const row of document.querySelectorAll('.requests summary'))
      if (row.scrollWidth > row.clientWidth) faults.push('cut off: ' + row.textContent);
    return faults;
  })()`);
}
