import { ClaudeSession } from '@mcp-pruner/sessions/readers/claude.ts';
import { CodexSession } from '@mcp-pruner/sessions/readers/codex.ts';
import { describe, expect, it } from 'vitest';
import { type Fact, groundedAnswers, laterAnswers } from '../../bench/bill/basis.ts';
import { needsOf, Sent } from '../../bench/bill/needs.ts';
import { SentTexts } from '../../bench/bill/sent-texts.ts';
import { contentOf } from '../../bench/bill/shown.ts';
import { keptOf } from '../../bench/bill/sums.ts';
import { type Message, toolCall } from '../../bench/recordings/conversation.ts';
import { sessionRecordings } from '../../bench/recordings/own.ts';

const asked: Message = { role: 'user', content: 'Please mend the checkout.' };
const shell = (command: string): Message => ({
  role: 'assistant',
  content: '',
  tool_calls: [toolCall('c', 'Bash', { command })],
});
const shows = (content: string): Message => ({ role: 'tool', tool_call_id: 'c', content });
const says = (content: string): Message => ({ role: 'assistant', content });

/** Messages that every request sent as others. */
const sentAs = (messages: readonly Message[], others: readonly Message[]): SentTexts => {
  const texts = new SentTexts(messages);
  texts.note(0, others.map(contentOf));
  return texts;
};

/** A command, its result, and the answer. */
const turn = (command: string, result: string, answer: Message): Message[] => [
  asked,
  shell(command),
  shows(result),
  answer,
];
const factsIn = (messages: readonly Message[]): readonly Fact[] =>
  groundedAnswers(messages).flatMap(({ facts }) => facts);

const RUN = 'ok 1 - adds\nok 2 - removes\nFAIL src/cart.test.ts > totals_with_voucher\nTests  3 failed | 40 passed';
const HITS = 'src/cart.ts:4:applyVoucher(a)\nsrc/order.ts:9:applyVoucher(b)\nsrc/mail/send.ts:2:applyVoucher(c)';

const grounded: readonly (readonly [Fact['kind'], string, string, Message, string])[] = [
  ['outcome', 'npm test', RUN, says('The suite still fails.'), 'Tests  3 failed | 40 passed'],
  ['outcome', 'npm test', 'ran\nTests  43 passed', says('Everything passes now.'), 'Tests  43 passed'],
  ['failing', 'npm test', RUN, shell('sed -n 1,40p src/cart.test.ts'), 'FAIL src/cart.test.ts > totals_with_voucher'],
  ['version', 'npm ls zod', 'app\n└── zod@3.22.4', says('We are on 3.22.4.'), '└── zod@3.22.4'],
  ['choice', "rg -n 'applyVoucher'", HITS, shell('cat src/mail/send.ts'), 'src/mail/send.ts:2:applyVoucher(c)'],
  [
    'presence',
    "rg -n 'applyVoucher'",
    HITS,
    says('It is used in several places: there are callers.'),
    'src/cart.ts:4:applyVoucher(a)',
  ],
  ['nothing', "rg 'oldName' src", '', says('Nothing refers to the old name.'), ''],
  ['nothing', 'glob', 'No files found\nNo matches', says('There is no such file.'), 'No matches'],
];

it('a bare exit code is no fact, because clients print one above every result', () => {
  expect(factsIn(turn('make', 'Process exited with code 2\ncc a.c', says('The build is broken.')))).toEqual([]);
});

it('a fact that another result of the same turn shows too counts as kept', () => {
  const all = turn('npm test', RUN, says('The suite still fails.'));
  const twice: Message[] = [...all.slice(0, 3), ...all.slice(2)];
  const needs = needsOf(twice);
  const cut = twice.with(2, shows('cut'));
  expect(needs.answers).toHaveLength(1);
  expect(keptOf(needs, new Sent(sentAs(twice, cut))).answers).toBe(1);
});

describe('an answer that depends on a result', () => {
  it.each(grounded)('is found by the rule `%s`: %s', (kind, command, result, answer, line) => {
    const fact = factsIn(turn(command, result, answer)).find((one) => one.kind === kind);
    expect(fact).toMatchObject({ kind, from: 2 });
    expect(fact?.lines).toContain(line);
  });

  it.each(grounded.filter(([kind]) => kind !== 'nothing'))(
    'is grounded only while a line with the fact of the rule `%s` is kept: %s',
    (kind, command, result, answer) => {
      const messages = turn(command, result, answer);
      const needs = needsOf(messages);
      const lines = needs.answers.flatMap(({ facts }) => facts).flatMap((fact) => fact.lines);
      const only = needs.answers.flatMap(({ facts }) => facts).map((fact) => fact.lines.at(-1));
      const grounds = (content: string) =>
        keptOf(needs, new Sent(sentAs(messages, messages.with(2, shows(content))))).answers;
      expect([kind, grounds(only.join('\n')), grounds(result)]).toEqual([kind, 1, 1]);
      expect(
        grounds(
          result
            .split('\n')
            .filter((line) => !lines.includes(line))
            .join('\n'),
        ),
      ).toBe(0);
    },
  );

  it.each([
    ['the answer speaks of something else', 'npm test', RUN, says('I look at the mailer next.')],
    ['the result counts nothing', 'npm test', 'running\nstill running', says('It failed.')],
    ['what passed is no basis for a failure', 'npm test', 'Tests  43 passed', says('The earlier run failed.')],
    ['the answer repeats the whole line', 'npm test', RUN, says('It failed: "Tests  3 failed | 40 passed"')],
    ['the result lists only one path', "rg 'x'", 'src/cart.ts:4:x', shell('cat src/cart.ts')],
    ['there were hits', "rg 'oldName'", HITS, says('Nothing refers to it.')],
    ['there was nothing', "rg 'oldName' src", '', says('I rename it now.')],
  ])('is not found if %s', (_, command, result, answer) => {
    expect(factsIn(turn(command, result, answer))).toEqual([]);
  });

  it('is not found if the path or the version was known before', () => {
    const messages = turn('npm ls', 'a/b.ts\nc/d.ts\ne/f.ts zod@3.22.4', shell('cat c/d.ts # 3.22.4'));
    expect(factsIn(messages).map(({ kind }) => kind)).toEqual(['version', 'choice']);
    expect(factsIn([{ role: 'user', content: 'Look at c/d.ts, zod 3.22.4.' }, ...messages])).toEqual([]);
  });

  it('depends only on results right before it', () => {
    expect(factsIn([...turn('npm test', RUN, says('Next.')), asked, says('It fails.')])).toEqual([]);
  });
});

describe('session files that agents keep on a machine', () => {
  const read = (
    reader: { line(text: string): void; end(): Parameters<typeof sessionRecordings>[0] },
    of: unknown[],
  ) => {
    for (const entry of of) reader.line(JSON.stringify(entry));
    return sessionRecordings(reader.end(), 'agent', 'file')[0];
  };
  const roles = (messages: readonly Message[] | undefined): unknown[] => (messages ?? []).map(({ role }) => role);

  it('of Claude Code are read as recordings', () => {
    const at = { timestamp: '2026-11-20T10:00:00Z', sessionId: 's', cwd: '/w/shop' };
    const usage = { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 7 };
    const said = (id: string, content: unknown[]) => ({
      ...{ ...at, type: 'assistant', requestId: id, uuid: id },
      message: { id, role: 'assistant', model: 'claude-test', content, usage },
    });
    const user = (content: unknown) => ({ ...at, type: 'user', message: { role: 'user', content } });
    const call = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'npm test' } };
    const recording = read(new ClaudeSession(), [
      user('Mend the checkout.'),
      said('a', [call]),
      user([{ type: 'tool_result', tool_use_id: 't1', content: RUN }]),
      said('b', [{ type: 'text', text: 'The suite still fails.' }]),
      user('And now?'),
      said('c', [{ type: 'text', text: 'Done.' }]),
    ]);
    expect(roles(recording?.messages)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
    expect(recording?.usage?.map(({ at: answer, fresh, read: from }) => [answer, fresh, from])).toEqual([
      [1, 5, 100],
      [3, 5, 100],
      [5, 5, 100],
    ]);
    expect(factsIn(recording?.messages ?? []).map(({ kind }) => kind)).toEqual(['outcome']);
  });

  it('of Codex are read as recordings', () => {
    const item = (payload: unknown) => ({ timestamp: '2026-11-20T10:00:00Z', type: 'response_item', payload });
    const text = (role: string, words: string) =>
      item({ type: 'message', role, content: [{ type: 'text', text: words }] });
    const bill = (total: number) => ({
      ...{ timestamp: '2026-11-20T10:00:01Z', type: 'event_msg' },
      payload: {
        type: 'token_count',
        info: {
          total_token_usage: { input_tokens: total, output_tokens: 1, total_tokens: total },
          last_token_usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 4, total_tokens: 104 },
        },
      },
    });
    const recording = read(new CodexSession(), [
      { timestamp: '2026-11-20T10:00:00Z', type: 'session_meta', payload: { id: 's', cwd: '/w/shop' } },
      text('user', 'Mend the checkout.'),
      item({ type: 'function_call', name: 'shell', arguments: '{"command":"npm test"}', call_id: 'c1' }),
      bill(100),
      item({ type: 'function_call_output', call_id: 'c1', output: RUN }),
      text('assistant', 'The suite still fails.'),
      bill(200),
      text('user', 'And now?'),
      text('assistant', 'Done.'),
      bill(300),
    ]);
    expect(roles(recording?.messages)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user', 'assistant']);
    expect(recording?.usage?.[0]).toMatchObject({ at: 1, fresh: 40, read: 60 });
    expect(factsIn(recording?.messages ?? []).map(({ kind }) => kind)).toEqual(['outcome']);
  });
});

describe('an answer that rests on a result before the newest one', () => {
  const list = 'src/cart.ts\nsrc/order.ts\nsrc/mail/send.ts\nrelease 4.17.21';
  const start = [...turn('ls', list, shell('date')), shows('Sunday'), shell('cat src/mail/send.ts')];

  it('is found if a call names what only that result showed', () => {
    const [answer, ...more] = laterAnswers(start);
    expect(answer).toMatchObject({ at: 5, facts: [{ kind: 'choice', from: 2, lines: ['src/mail/send.ts'] }] });
    expect(more).toEqual([]);
  });

  it('is not found once somebody said it, or if the newest result shows it too', () => {
    const said = [...turn('ls', list, shell('cat src/mail/send.ts')), shows('x'), shell('wc src/mail/send.ts')];
    expect(laterAnswers(said)).toEqual([]);
    const again = [...start.slice(0, 4), shows('src/mail/send.ts'), ...start.slice(5)];
    expect(laterAnswers(again)).toEqual([]);
  });

  it('loses its basis once the result is put aside', () => {
    const aside = start.map((message, i) => (i === 2 ? shows('put aside') : message));
    const needs = needsOf(start);
    expect(keptOf(needs, new Sent(sentAs(start, start))).later).toBe(1);
    expect(keptOf(needs, new Sent(sentAs(start, aside))).later).toBe(0);
  });
});
