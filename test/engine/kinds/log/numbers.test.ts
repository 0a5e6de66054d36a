import { describe, expect, it } from 'vitest';
import { planPrune } from '../../../../src/engine/plan.ts';

const clock = (i: number): string => `10:${String(10 + (Math.floor(i / 60) % 50))}:${String(i % 60).padStart(2, '0')}`;

/** The lines with `odd` values among 400 that are lost. */
function lost(
  line: (i: number, value: number) => string,
  usual: number,
  odd: Readonly<Record<number, number>>,
): number[] {
  const all = Array.from({ length: 400 }, (_, i) => line(i, odd[i] ?? usual));
  const { cuts } = planPrune({
    text: `${all.join('\n')}\n`,
    goal: 'Is everything all right?',
    hints: { origin: 'command', command: 'tail -400 app.log' },
    limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  });
  const removed = cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
  expect(removed).toBeGreaterThan(200);
  const isCut = (i: number): boolean => cuts.some(({ startLine, endLine }) => startLine <= i + 1 && i + 1 <= endLine);
  return Object.keys(odd).map(Number).filter(isCut);
}

describe('a request log', () => {
  const FORMS: Readonly<Record<string, (i: number, status: number) => string>> = {
    'the form of web servers': (i, status) =>
      `10.0.0.${i % 250} - - [11/Feb/2026:${clock(i)} +0000] "GET /api/items/${i} HTTP/1.1" ${status} ${200 + i} "-" "curl/8"`,
    logfmt: (i, status) => `time=2026-02-11T${clock(i)}Z level=info msg=request id=${i} status=${status} ms=${i % 40}`,
    JSON: (i, status) =>
      `{"time":"2026-02-11T${clock(i)}Z","level":"info","msg":"request","status":${status},"ms":${i % 40}}`,
    'plain words': (i, status) => `2026-02-11 ${clock(i)} INFO GET /v1/items/${i} -> ${status} in ${i % 40} ms`,
  };

  it.each(Object.entries(FORMS))('keeps the few requests with a different status, in %s', (_, line) => {
    expect(lost(line, 200, { 133: 503, 201: 499, 290: 503 })).toEqual([]);
  });

  it('cuts requests with a different status if every second request has one', () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, k) => [k * 2, 404]));
    expect(lost(FORMS['plain words'] ?? String, 200, many).length).toBeGreaterThan(50);
  });
});

it('a log keeps a line whose count of dropped jobs or lag differs greatly from other lines', () => {
  const state = (name: string) => (i: number, value: number) =>
    `2026-02-11 ${clock(i)} INFO worker report jobs=${i % 50} ${name}=${value}`;
  expect(lost(state('dropped'), 0, { 177: 3 })).toEqual([]);
  expect(lost(state('lag'), 4, { 177: 9_100 })).toEqual([]);
});
