import { describe, expect, it } from 'vitest';
import { formatMarker } from '../../src/engine/text/marker.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { googleGemini } from '../../src/wires/dialects/google-gemini/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { Conversation } from '../../src/wires/goal/conversation.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const MARKER = formatMarker({ pruneId: 'prn_0123456789AB', startLine: 4, endLine: 90, reason: 'hors focus' });
const NOTICE = /^⟦PRUNÉ: attention: [^\n⟦⟧]*⟧\n/u;
const WRITE = { file_path: 'a.ts', content: `import x\n${MARKER}\n` };

/** One step of a conversation: the words of the user, or a call of the model with its result. */
type Step = string | { readonly tool: string; readonly args: object; readonly result: string };

/** A wire: a body of some steps, and the results in a body. */
interface Wire {
  readonly dialect: Dialect;
  body(steps: readonly Step[]): object;
  results(body: Buffer): readonly string[];
}

const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
const listAt = (body: Buffer, key: string): readonly unknown[] =>
  at(JSON.parse(body.toString()), key) as readonly unknown[];

const WIRES: Readonly<Record<string, Wire>> = {
  chat: {
    dialect: openaiChat,
    body: (steps) => ({
      model: 'gpt-5',
      messages: steps.flatMap((step, i): object[] =>
        typeof step === 'string'
          ? [{ role: 'user', content: step }]
          : [
              {
                ...{ role: 'assistant', content: null },
                tool_calls: [
                  {
                    id: `c${i}`,
                    type: 'function',
                    function: { name: step.tool, arguments: JSON.stringify(step.args) },
                  },
                ],
              },
              { role: 'tool', tool_call_id: `c${i}`, content: step.result },
            ],
      ),
    }),
    results: (body) =>
      listAt(body, 'messages').flatMap((one) => (at(one, 'role') === 'tool' ? String(at(one, 'content')) : [])),
  },
  messages: {
    dialect: anthropicMessages,
    body: (steps) => ({
      ...{ model: 'claude-opus-5', max_tokens: 9 },
      messages: steps.flatMap((step, i): object[] =>
        typeof step === 'string'
          ? [{ role: 'user', content: step }]
          : [
              { role: 'assistant', content: [{ type: 'tool_use', id: `c${i}`, name: step.tool, input: step.args }] },
              { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${i}`, content: step.result }] },
            ],
      ),
    }),
    results: (body) =>
      listAt(body, 'messages').flatMap((one) => {
        const content = at(one, 'content', '0', 'content');
        return typeof content === 'string' && at(one, 'role') === 'user' ? content : [];
      }),
  },
  responses: {
    dialect: openaiResponses,
    body: (steps) => ({
      model: 'gpt-5',
      input: steps.flatMap((step, i): object[] =>
        typeof step === 'string'
          ? [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: step }] }]
          : [
              { type: 'function_call', call_id: `c${i}`, name: step.tool, arguments: JSON.stringify(step.args) },
              { type: 'function_call_output', call_id: `c${i}`, output: step.result },
            ],
      ),
    }),
    results: (body) =>
      listAt(body, 'input').flatMap((one) => (at(one, 'output') === undefined ? [] : String(at(one, 'output')))),
  },
  gemini: {
    dialect: googleGemini,
    body: (steps) => ({
      contents: steps.flatMap((step): object[] =>
        typeof step === 'string'
          ? [{ role: 'user', parts: [{ text: step }] }]
          : [
              { role: 'model', parts: [{ functionCall: { name: step.tool, args: step.args } }] },
              { role: 'user', parts: [{ functionResponse: { name: step.tool, response: { output: step.result } } }] },
            ],
      ),
    }),
    results: (body) =>
      listAt(body, 'contents').flatMap((one) => {
        const output = at(one, 'parts', '0', 'functionResponse', 'response', 'output');
        return output === undefined ? [] : String(output);
      }),
  },
};

const write: Step = { tool: 'Write', args: WRITE, result: 'ok' };
const log = (seed: number): Step => ({
  tool: 'Bash',
  args: { command: `npm start ${seed}` },
  result: serverLog(400, seed),
});

/** A process on a store, which sends growing conversations. */
function open(wire: Wire, store = openStore()) {
  const pipeline = openPipeline({ store });
  return {
    store,
    send: (steps: readonly Step[]) =>
      pipeline.rewrite({ body: Buffer.from(JSON.stringify(wire.body(steps))), dialect: wire.dialect }),
  };
}

describe.each(Object.entries(WIRES))('the warning after the model wrote a marker into a file, on %s', (_, wire) => {
  it('stands once in front of the next result that is cut, and is repeated byte for byte', async () => {
    const { store, send } = open(wire);
    const steps: Step[] = ['Why does it fail?', log(1)];
    const noticed = async (more: readonly Step[], by = send) => {
      steps.push(...more);
      return wire.results((await by(steps)).body).map((text) => NOTICE.test(text));
    };
    expect(await noticed([])).toEqual([false]);
    expect(await noticed([write])).toEqual([false, false]);
    expect(await noticed([log(2)])).toEqual([false, false, true]);
    const { body } = await send(steps);
    expect(await noticed([log(3)])).toEqual([false, false, true, false]);
    const restarted = await open(wire, store).send(steps.slice(0, -1));
    expect(restarted.body.equals(body)).toBe(true);
    // a second marker is warned of again
    await noticed([write, log(4)]);
    expect(await noticed([log(5)])).toEqual([false, false, true, false, false, true, false]);
  });

  it('leaves the result behind it as it would be without, and recoverable', async () => {
    const { store, send } = open(wire);
    const harmless: Step = { tool: 'Write', args: { file_path: 'a.ts', content: 'import x\n' }, result: 'ok' };
    const [warned, plain] = [await send(['Why?', write, log(2)]), await open(wire).send(['Why?', harmless, log(2)])];
    const [withLine = '', without = ''] = [warned, plain].map(({ body }) => wire.results(body).at(-1));
    const ids = /prn_[0-9A-Z]{12}/g;
    expect(withLine.replace(NOTICE, '').replace(ids, 'id')).toBe(without.replace(ids, 'id'));
    const [pruneId = ''] = ids.exec(withLine) ?? [];
    expect(await store.findOriginal(pruneId)).toBe(serverLog(400, 2));
    const { tokensBefore = 0, tokensAfter = 0 } = warned.outcomes.at(-1) ?? {};
    expect(tokensAfter).toBeGreaterThan(plain.outcomes.at(-1)?.tokensAfter ?? 0);
    expect(tokensAfter).toBeLessThan(tokensBefore);
  });
});

describe('the warning in a conversation whose history the provider keeps', () => {
  it('stands once in front of the next result that is cut', async () => {
    const pipeline = openPipeline({ store: openStore() });
    const calls: readonly (readonly [string, object, string])[] = [
      ['Write', WRITE, 'ok'],
      ['Bash', { command: 'npm start' }, serverLog(400, 7)],
      ['Bash', { command: 'npm test' }, serverLog(400, 8)],
    ];
    const asked = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why?' }] };
    const inputs = [
      asked,
      ...calls.map(([, , output], i) => ({ type: 'function_call_output', call_id: `c${i}`, output })),
    ];
    const noticed: boolean[] = [];
    for (const [i, input] of inputs.entries()) {
      const fields = { model: 'gpt-4.1', input: [input], ...(i > 0 && { previous_response_id: `resp_${i - 1}` }) };
      const sent = await pipeline.rewrite({ body: Buffer.from(JSON.stringify(fields)), dialect: openaiResponses });
      noticed.push(NOTICE.test(WIRES.responses?.results(sent.body)[0] ?? ''));
      const made = calls.slice(i, i + 1).map(([name, args]) => ({ id: `c${i}`, name, args: JSON.stringify(args) }));
      await pipeline.answered('default', sent, {
        id: `resp_${i}`,
        items: [{ said: '', calls: made }],
        calls: new Map(),
      });
    }
    expect(noticed).toEqual([false, false, true, false]);
  });

  it('is due in another process too', () => {
    const wrote = new Conversation();
    wrote.wroteMarker(7);
    const read = Conversation.fromText(wrote.toText());
    expect([read.warnsSince, wrote.kept().warnsSince, new Conversation().warnsSince]).toEqual([-1, -1, undefined]);
    read.warned();
    expect(Conversation.fromText(read.toText()).warnsSince).toBeUndefined();
  });
});

describe('no warning', () => {
  const { chat } = WIRES;
  if (!chat) throw new Error('no wire');
  const small: Step = { tool: 'Bash', args: { command: 'ls' }, result: 'a.ts\nb.ts' };

  it.each<[string, readonly Step[]]>([
    ['stands in a result that stays whole: the next one that is cut has it', ['Why?', write, small, log(2)]],
    ['stands in front of the older result of the same answer', ['Why?', log(1), write, log(2)]],
    [
      'is given for what a call only reads',
      ['Why?', { tool: 'Read', args: { file_path: MARKER }, result: 'no' }, log(2)],
    ],
    [
      'is given for the text that an edit replaces',
      ['Why?', { tool: 'Edit', args: { old_string: MARKER, new_string: 'x' }, result: 'ok' }, log(2)],
    ],
  ])('%s', async (_, steps) => {
    const results = chat.results((await open(chat).send(steps)).body).map((text) => NOTICE.test(text));
    const expected = steps.includes(write)
      ? results.map((_one, i) => i === results.length - 1)
      : results.map(() => false);
    expect(results).toEqual(expected);
  });
});
