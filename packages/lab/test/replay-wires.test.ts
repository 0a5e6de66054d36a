import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { runCommand } from './run-command.ts';

const input = [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why does the checkout fail?' }] },
  { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"command":"npm start"}' },
  { type: 'function_call_output', call_id: 'c1', output: serverLog(900) },
];
const more = [
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is the payment.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Mend it.' }] },
];
const messages = oneCall(serverLog(900));
const next = [...messages, { role: 'assistant', content: 'It is the payment.' }, { role: 'user', content: 'Mend it.' }];

describe('a replay', () => {
  it.each([
    [
      'responses',
      [
        { model: 'm', input },
        { model: 'm', input: [...input, ...more] },
      ],
    ],
    ['messages', [messages, next].map((all) => JSON.parse(messagesBody(all).toString()) as object)],
  ])('understands bodies of the %s wire', async (_, bodies) => {
    const file = join(tempFolder(), 'log.jsonl');
    writeFileSync(file, bodies.map((body) => JSON.stringify(body)).join('\n'));
    const { code, out } = await runCommand(['replay', file, '--json']);
    const printed = JSON.parse(out) as Record<string, number>;
    expect(code).toBe(0);
    expect(printed).toMatchObject({ requests: 2, conversations: 1, unreadable: 0, prunedMessages: 1, prefixStable: 1 });
    expect(printed.tokensAfter).toBeLessThan(0.7 * (printed.tokensBefore ?? 0));
  });
});
