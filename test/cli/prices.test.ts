import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { run } from './fake-io.ts';

const clock = { nowMs: () => Date.parse('2026-12-04T12:00:00Z') };

describe('mcp-pruner report --prices', () => {
  it('names the row of a model and its age', async () => {
    const { code, out } = await run(['report', '--prices', 'anthropic/claude-haiku-4.5', '--json'], { clock });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      row: expect.objectContaining({ model: 'claude-haiku-4-5', input: 1, output: 5, day: '2026-11-24' }),
      fits: 'claude-haiku-4-5',
      ageDays: 10,
    });
    const shown = (await run(['report', '--prices', 'claude-haiku-5-5'], { clock, columns: 70, outIsTerminal: true }))
      .out;
    expect(shown).toContain('above 100,000');
    expect(shown).toContain('looked up 2026-11-24 (10 days ago)');
    expect(Math.max(...shown.split('\n').map((line) => line.length))).toBeLessThanOrEqual(70);
  });

  it('exits with code 1 if no row matches', async () => {
    const { code, out } = await run(['report', '--prices', 'a-model-of-mine', '--json'], { clock });
    expect([code, JSON.parse(out)]).toEqual([1, { row: null, fits: null, ageDays: null }]);
    expect((await run(['report', '--prices', 'a-model-of-mine'], { clock })).out).toContain('no row fits');
  });

  it("lists the user's rows before the installed rows, and reports invalid rows", async () => {
    const path = join(tempFolder(), 'prices.toml');
    writeFileSync(
      path,
      '[[price]]\nmodel = "mine"\ninput = 1\noutput = 2\nday = "2026-12-01"\nsource = "me"\n[[price]]\n',
    );
    const { code, out, err } = await run(['report', '--prices'], { clock, env: { MCP_PRUNER_PRICES: path } });
    expect([code, out.split('\n')[1]?.split(/ +/)[0]]).toEqual([0, 'mine']);
    expect(out).toContain('gpt-6.1-sol');
    expect(err).toMatch(/^price file broken: .*prices\.toml: price\.1\./);
  });
});
