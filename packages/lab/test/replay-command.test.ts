import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { chatBody, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { messagesBody, oneCall, toolResult, toolUse, type WireMessage } from '../../../test/helpers/messages.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { runCommand } from './run-command.ts';

const MODEL = 'claude-opus-4-5';

function logOf(lines: readonly object[]): string {
  const file = join(tempFolder(), 'requests.jsonl');
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
}

const parsed = (body: Buffer): object => JSON.parse(body.toString()) as object;

async function dollarsOf(file: string) {
  const { out } = await runCommand(['replay', file, '--json']);
  return (JSON.parse(out) as { dollars: { before: number; after: number; estimated: number; unpriced: number } })
    .dollars;
}

describe('replay', () => {
  it('reports recorded usage in dollars from the price table', async () => {
    const first: WireMessage[] = oneCall(serverLog(400));
    const second: WireMessage[] = [
      ...first,
      { role: 'assistant', content: [toolUse('toolu_2', 'Bash', { command: 'npm test' })] },
      { role: 'user', content: [toolResult('toolu_2', serverLog(300, 5))] },
    ];
    const usage = (read: number, written: number) => ({
      ...{ input_tokens: 5, cache_read_input_tokens: read, cache_creation_input_tokens: written, output_tokens: 100 },
    });
    const line = (messages: WireMessage[], read: number, written: number) => ({
      request: parsed(messagesBody(messages, { model: MODEL, cache_control: { type: 'ephemeral' } })),
      response: { type: 'message', role: 'assistant', model: MODEL, content: [], usage: usage(read, written) },
    });
    const file = logOf([line(first, 0, 20_000), line(second, 20_000, 15_000)]);
    const { before, after, ...others } = await dollarsOf(file);
    // 35,000 written at $6.25, 20,000 read at $0.50, 10 fresh at $5, 200 out at $25, for a million each
    expect(before).toBeCloseTo((35_000 * 6.25 + 20_000 * 0.5 + 10 * 5 + 200 * 25) / 1e6, 9);
    expect(after).toBeLessThan(before * 0.6);
    expect(others).toEqual({ estimated: 0, unpriced: 0 });
    expect((await runCommand(['replay', file])).out).toMatch(/dollars +\$0\.2338 +\$0\.\d+ +0\.\d+/);
  });

  it('notes estimated tokens and missing prices', async () => {
    const turns = [oneResult(serverLog(300)), [...oneResult(serverLog(300)), ...toolTurn('2', 'bash', {}, 'ok')]];
    const requests = (model: string) => turns.map((messages) => parsed(chatBody(messages, { model })));
    const priced = await dollarsOf(logOf(requests('gpt-5.1')));
    expect(priced).toMatchObject({ estimated: 2, unpriced: 0 });
    expect(priced.after).toBeLessThan(priced.before);
    const none = logOf(requests('a-model-of-mine'));
    expect(await dollarsOf(none)).toEqual({ before: 0, after: 0, estimated: 2, unpriced: 2 });
    expect((await runCommand(['replay', none])).out).toContain('no dollars');
  });
});
