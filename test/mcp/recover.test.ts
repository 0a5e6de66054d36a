import { describe, expect, it } from 'vitest';
import type { TestProxy } from '../helpers/proxy.ts';
import { ask, logArgs, startProduct } from './helpers/product.ts';

interface Pruned {
  readonly prune_id: string;
  readonly annotations: readonly { marker: string; original_start_line: number; original_end_line: number }[];
}

describe('recover_text', () => {
  const args = logArgs();
  const lines = args.text.split('\n');

  async function pruned(): Promise<{ proxy: TestProxy } & Pruned> {
    const proxy = await startProduct({ MCP_PRUNER_ENABLE: 'bulk,events-bus' });
    return { proxy, ...(await ask<Pruned>(proxy, 'prune_text', args)) };
  }

  it('accepts an id in lower case, and returns it in its original case', async () => {
    const { proxy, prune_id } = await pruned();
    const ranges = [{ start_line: 2, end_line: 3 }];
    const call = { prune_id: prune_id.toLowerCase(), ranges, include_line_numbers: false };
    expect(await ask(proxy, 'recover_text', call)).toEqual({
      raw_text: lines.slice(1, 3).join('\n'),
      metadata: { prune_id, ranges, line_numbering: 'original' },
    });
  });

  it('accepts a marker in place of the id and, without ranges, returns the lines of the marker', async () => {
    const { proxy, prune_id, annotations } = await pruned();
    const [first] = annotations;
    if (first === undefined) throw new Error('nothing was cut');
    const own = [{ start_line: first.original_start_line, end_line: first.original_end_line }];
    const call = { prune_id: first.marker, ranges: [], include_line_numbers: false };
    const expected = {
      raw_text: lines.slice(first.original_start_line - 1, first.original_end_line).join('\n'),
      metadata: { prune_id, ranges: own, line_numbering: 'original' },
    };
    expect(await ask(proxy, 'recover_text', call)).toEqual(expected);
    expect(await ask(proxy, 'recover_batch', { entries: [call] })).toEqual({ results: [expected] });
    const ranges = [{ start_line: 1, end_line: 1 }];
    expect(await ask(proxy, 'recover_text', { ...call, ranges })).toMatchObject({ raw_text: lines[0] });
  });

  it('ignores the two arguments that clients add to every call, and refuses any other unknown argument', async () => {
    const { proxy, prune_id } = await pruned();
    const call = { prune_id, ranges: [{ start_line: 2, end_line: 3 }], include_line_numbers: false };
    const added = { wait_for_previous: true, task_progress: '- [x] read the log' };
    expect(await ask(proxy, 'recover_text', { ...call, ...added })).toEqual(await ask(proxy, 'recover_text', call));
    const { error } = await proxy.call('recover_text', { ...call, ...added, progress: 1 });
    expect(error).toMatchObject({ code: -32602 });
    expect(JSON.stringify(error)).toContain('"progress"');
  });

  it('accepts line numbers as strings', async () => {
    const { proxy, prune_id } = await pruned();
    const call = { prune_id, ranges: [{ start_line: '2', end_line: '3' }], include_line_numbers: false };
    expect(await ask(proxy, 'recover_text', call)).toMatchObject({ raw_text: lines.slice(1, 3).join('\n') });
    for (const wrong of ['', '2.5', '-1', 'two', '1e3', true]) {
      const { error } = await proxy.call('recover_text', { ...call, ranges: [{ start_line: wrong, end_line: 3 }] });
      expect(error).toMatchObject({ code: -32602 });
    }
  });

  it('answers a call without ranges with the number of lines, and does not count it as a recovery', async () => {
    const { proxy, prune_id } = await pruned();
    expect(await ask(proxy, 'recover_text', { prune_id, ranges: [], include_line_numbers: true })).toEqual({
      raw_text: '',
      metadata: { prune_id, ranges: [], line_numbering: 'original', lines: lines.length - 1 },
    });
    const page = await ask<{ events: { kind: string }[] }>(proxy, 'events_watch', { limit: 500 });
    expect(page.events.map(({ kind }) => kind)).not.toContain('recovered');
  });

  it('reports the number of lines if lines beyond the end are requested', async () => {
    const { proxy, prune_id } = await pruned();
    const count = lines.length - 1; // the text ends with a line end
    const call = (start_line: number, end_line: number) =>
      proxy.call('recover_text', { prune_id, ranges: [{ start_line, end_line }], include_line_numbers: true });
    expect((await call(count + 1, count + 5)).error).toEqual({
      code: -32005,
      message: 'invalid_range',
      data: {
        code: 'invalid_range',
        prune_id,
        hint: `${count + 1}-${count + 5} begins beyond the end: the text has ${count} lines.`,
      },
    });
    expect((await call(count, count + 5)).result?.content[0]?.text).toContain(`${count}│ `);
  });
});

describe('prune_text after a timeout', () => {
  it.each([
    ['logs', (i: number) => `${i} INFO got /v1/${i * 7}`],
    ['docs', (i: number) => `On day ${i} it rained again.`],
    ['code', (i: number) => `const v${i} = f(${i * 7});`],
  ])('returns %s unchanged, without line numbers, with a warning at each call', async (source_type, line) => {
    const proxy = await startProduct();
    const text = Array.from({ length: 60_000 }, (_, i) => line(i)).join('\n');
    const options = { ...logArgs().options, timeout_ms: 1, annotate_lines: true };
    for (let call = 0; call < 2; call++) {
      const result = await ask(proxy, 'prune_text', { ...logArgs(), source_type, text, options });
      expect(result.pruned_text === text).toBe(true);
      expect(result).toMatchObject({ annotations: [], stats: { used_fallback: true }, warnings: ['timeout'] });
    }
  });
});
