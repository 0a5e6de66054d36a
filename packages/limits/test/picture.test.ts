import { stripVTControlCharacters, styleText } from 'node:util';
import { attribute, type Reading } from '@mcp-pruner/money/limits/attribution.ts';
import { UNITS } from '@mcp-pruner/money/limits/read-limits.ts';
import { expect, it } from 'vitest';
import { limitsOf } from '../src/report.ts';
import { clientStatus, lineOf, PARTS } from '../src/statusline/line.ts';
import { limitsText } from '../src/text.ts';

const NOW_MS = new Date(2026, 10, 27, 10, 40).getTime();
const [COLUMNS, CHAR, ROW, EDGE] = [78, 8.43, 19, 20];
const ESC = String.fromCharCode(27);
const STYLED = new RegExp(`${ESC}\\[(\\d+)m(.*?)${ESC}\\[\\d+m`, 'g');
const STYLES: Readonly<Record<string, string>> = { 1: 'font-weight="bold"', 2: 'fill="#7f8694"', 32: 'fill="#7bd88f"' };

/** Readings of three sessions, each the size of its step. */
function readings(window: string, minutes: number, resetsInMs: number, first: number, steps: readonly number[]) {
  let used = first;
  const sessions = ['1f2e7c30', '9a41d0be', '77c0aa19'];
  return [0, ...steps].map((step, i): Reading => {
    used += step;
    const session = sessions[(i + 2) % 3] ?? '';
    const project = session === '77c0aa19' ? 'billing' : 'shop-web';
    const endedMs = NOW_MS - (steps.length - i) * 60_000;
    return {
      ...{ account: '3fa4b2c81d9e', provider: 'anthropic', plan: null, window, minutes, status: 'allowed' },
      ...{ resetsS: (NOW_MS + resetsInMs) / 1000, used: used * (UNITS / 100), request: `r${i}`, project, session },
      ...{ conversation: session, keyId: '', model: 'claude-opus-5', startedMs: endedMs - 20_000, endedMs, weight: 1 },
    };
  });
}

/** Lines of a terminal as a picture. */
function svg(lines: readonly string[]): string {
  const width = Math.max(...lines.map((line) => stripVTControlCharacters(line).length));
  const [w, h] = [Math.ceil(width * CHAR + 2 * EDGE), lines.length * ROW + 2 * EDGE];
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const texts = lines.flatMap((line, i) => {
    if (line === '') return [];
    const spans = escaped(line).replaceAll(
      STYLED,
      (_all, code: string, text: string) => `<tspan ${STYLES[code] ?? ''}>${text}</tspan>`,
    );
    const length = Math.round(stripVTControlCharacters(line).length * CHAR);
    const place = `x="${EDGE}" y="${EDGE + 13 + i * ROW}" textLength="${length}" lengthAdjust="spacingAndGlyphs"`;
    return [`<text ${place}>${spans}</text>`];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" role="img" aria-label="mcp-pruner limits and the status line in a terminal"><rect width="${w}" height="${h}" rx="8" fill="#16181d"/><g xml:space="preserve" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" fill="#d7dae0">`,
    ...texts,
    '</g></svg>\n',
  ].join('\n');
}

it('the picture in the docs matches the output of the commands', async () => {
  const windows = attribute([
    ...readings('5h', 300, 8_400_000, 5, [11, 9, 20]),
    ...readings('7d', 10_080, 333_600_000, 32, [9, 3, 17]),
  ]);
  const io = { columns: COLUMNS, env: {}, outIsTerminal: true };
  const text = limitsText({ ...limitsOf(windows, NOW_MS, null), seam: null }, { nowMs: NOW_MS, keys: new Map(), io });
  const context = { model: 'claude-opus-5', tokens: 84_000, threshold: 967_000, isLearned: true, compactPaysAfter: 3 };
  const line = lineOf(PARTS, {
    client: clientStatus(''),
    figures: {
      session: '1f2e7c30',
      context: { ...context, cacheUntilMs: NOW_MS + 252_000, next: { warm: 0.09, cold: 0.51 } },
      windows: windows.map(({ window, minutes, used, resetsS }) => ({
        ...{ window, minutes, used: used / UNITS, resetsAtMs: resetsS * 1000 },
        ...{ session: window === '5h' ? 0.2 : 0.17, usedUpAtMs: window === '5h' ? null : NOW_MS + 26_000_000 },
      })),
      finished: null,
      savedDollars: 1.2,
    },
    nowMs: NOW_MS,
  });
  const dim = (words: string) => `${styleText('dim', '$', { validateStream: false })} ${words}`;
  const lines = [dim('mcp-pruner limits'), '', ...text.trimEnd().split('\n'), '', dim('mcp-pruner statusline'), line];
  await expect(svg(lines)).toMatchFileSnapshot('../../../docs/limits.svg');
});
