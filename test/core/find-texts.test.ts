import { describe, expect, it } from 'vitest';
import { findTexts } from '../../src/core/request/find-texts.ts';
import { BodyTexts, type FindSettings, type FoundText } from '../../src/core/request/found-text.ts';
import { scanChatBody } from '../../src/wires/dialects/openai-chat/scan.ts';
import { Conversation } from '../../src/wires/goal/conversation.ts';
import { chatBody, type Message, oneResult, toolTurn } from '../helpers/chat.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const LOG = serverLog(60);
const FILE = sourceFile(12);
const SETTINGS: FindSettings = {
  minPruneChars: 1_000,
  maxInputChars: 2_000_000,
  limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  neverPruneTool: () => false,
  neverPrunePath: () => false,
};

/** All texts that are found in a conversation. */
function foundIn(messages: readonly Message[], over: Partial<FindSettings> = {}): FoundText[] {
  const texts = new BodyTexts(chatBody(messages));
  const conversation = new Conversation();
  return scanChatBody(texts.bytes).messages.flatMap((message, i) =>
    findTexts({ texts, message, messageIndex: i, conversation, settings: { ...SETTINGS, ...over }, results: [] }),
  );
}

function only(messages: readonly Message[], over: Partial<FindSettings> = {}): FoundText {
  const [found, ...more] = foundIn(messages, over);
  if (!found || more.length > 0) throw new Error(`found ${more.length + (found ? 1 : 0)} texts`);
  return found;
}

const ASKED = 'Why does the voucher vanish after the second payment of a basket?';
const asked = { role: 'user', content: ASKED };

describe('the goal of a result', () => {
  it('consists of the arguments of the call, the words beside it, and the newest words of the user', () => {
    const { goal } = only([
      asked,
      ...toolTurn('c', 'grep', { pattern: 'mergeVoucher', path: 'src' }, LOG, 'I look for the merge.'),
    ]).job;
    expect(goal.split('\n')).toEqual(['mergeVoucher', 'src', 'I look for the merge.', ASKED]);
  });

  it('is only the explicit question if the call has one', () => {
    const args = { file_path: 'a.ts', context_focus_question: 'Where is the voucher stored?' };
    expect(only([asked, ...toolTurn('c', 'read', args, FILE)]).job.goal).toBe('Where is the voucher stored?');
  });

  it('does not depend on messages after the result', () => {
    const messages = [asked, ...toolTurn('c', 'bash', { command: 'npm start' }, LOG)];
    const later = [
      ...messages,
      { role: 'user', content: 'Forget it and rename the logger of the whole project instead, please.' },
    ];
    expect(foundIn(later)[0]?.job.goal).toBe(only(messages).job.goal);
  });

  it.each([
    ['an attached file', `<file name="src/big.ts">\n${FILE}</file>\n${ASKED}`],
    ['a file behind the words', `${ASKED}\n\n<file_content path="src/big.ts">\n${FILE}</file_content>`],
    ['a fenced file', `${ASKED}\n\nsrc/big.ts\n\`\`\`\n${FILE}\`\`\``],
    ['a pasted text', `${ASKED}\n\`\`\`\n${LOG}\`\`\``],
    ['a reminder', `<system-reminder>\nloadOrder0 is secret\n</system-reminder>\n${ASKED}`],
    ['the surroundings', `${ASKED}\n<environment_details>\nloadOrder0.ts is open\n</environment_details>`],
  ])('contains the user’s words without %s in the same message', (_name, content) => {
    const found = foundIn([{ role: 'user', content }, ...toolTurn('c', 'bash', { command: 'x' }, LOG)]).at(-1);
    expect(found?.job.goal).toBe(`x\n${ASKED}`);
  });

  it.each([
    ['a reminder', '<system-reminder>\nloadOrder0 is secret, remember it for ever and ever\n</system-reminder>'],
    ['instructions', '# AGENTS.md instructions for /w\n\nUse tabs, and loadOrder0 of course.'],
    ['the environment', '<environment_context>\n<cwd>/w/loadOrder0</cwd>\n</environment_context>'],
    ['a file', `<path>/w/big.ts</path>\n<type>file</type>\n<content>\n${FILE}</content>`],
    ['nothing', ' \n'],
  ])('ignores a message that the client added with %s', (_name, content) => {
    const found = foundIn([asked, { role: 'user', content }, ...toolTurn('c', 'bash', { command: 'x' }, LOG)]).at(-1);
    expect(found?.job.goal).toBe(`x\n${ASKED}`);
  });

  it('consists of the words in the same message for an attached file, wherever the file is in it', () => {
    for (const content of [
      `<file name="src/big.ts">\n${FILE}</file>\n${ASKED}`,
      [
        { type: 'text', text: `<path>/w/src/big.ts</path>\n<content>\n${FILE}</content>` },
        { type: 'text', text: ASKED },
      ],
      [
        { type: 'text', text: `${ASKED}\nContent from @src/big.ts:\n` },
        { type: 'text', text: FILE },
      ],
    ]) {
      const { goal, hints } = only([{ role: 'user', content }]).job;
      expect(goal).toContain(ASKED);
      expect(goal).not.toContain('loadOrder0');
      expect(hints.origin).toBe('read');
      expect(hints.path).toContain('src/big.ts');
    }
  });

  it('never contains the result of a tool', () => {
    const found = foundIn([
      asked,
      ...toolTurn('a', 'bash', { command: 'one' }, LOG),
      ...toolTurn('b', 'bash', { command: 'two' }, serverLog(60, 9)),
    ]);
    expect(found.at(-1)?.job.goal).toBe(`two\n${ASKED}`);
  });
});

describe('the facts about a result', () => {
  it('include the file that a call reads, with a read tool or a shell command', () => {
    for (const [tool, args] of [
      ['read_file', { path: 'src/a.ts' }],
      ['bash', { command: 'cat src/a.ts' }],
      ['shell', { command: ['bash', '-lc', 'cat src/a.ts'] }],
    ] as const) {
      const { hints } = only(oneResult(FILE, { tool, args })).job;
      expect(hints).toMatchObject({ origin: 'read', path: 'src/a.ts' });
    }
  });

  it('include the number of lines that the client added around it', () => {
    const { hints } = only(
      oneResult(`<path>/w/a.ts</path>\n<type>file</type>\n<content>\n${FILE}\n</content>`, {
        tool: 'read',
        args: { path: 'a.ts' },
      }),
    ).job;
    expect(hints).toMatchObject({ frameHead: 3, frameTail: 2 });
  });

  it('follow from the call with its id, whatever the order of results', () => {
    const call = (id: string, command: string) => ({
      id,
      type: 'function',
      function: { name: 'bash', arguments: JSON.stringify({ command }) },
    });
    const found = foundIn([
      asked,
      { role: 'assistant', content: null, tool_calls: [call('a', 'first'), call('b', 'second')] },
      { role: 'tool', tool_call_id: 'b', content: LOG },
      { role: 'tool', tool_call_id: 'a', content: serverLog(60, 3) },
    ]);
    expect(found.map(({ job }) => job.hints.command)).toEqual(['second', 'first']);
  });

  it('follow from the legacy function call with the same name', () => {
    const found = only([
      asked,
      { role: 'assistant', content: null, function_call: { name: 'run', arguments: '{"command":"npm test"}' } },
      { role: 'function', name: 'run', content: LOG },
    ]);
    expect(found.job).toMatchObject({ tool: 'run', hints: { command: 'npm test' } });
  });

  it('describe the result as a file that is read if no call is known', () => {
    expect(only([asked, { role: 'tool', tool_call_id: 'lost', content: LOG }]).job).toMatchObject({
      tool: '',
      hints: { origin: 'read' },
      goal: ASKED,
    });
  });
});

describe('a text is not considered', () => {
  it('if it is below the minimum size, and is considered from exactly that size on', () => {
    const text = (length: number) => `${'x\n'.repeat(length / 2)}`;
    expect(foundIn(oneResult(text(998)))).toEqual([]);
    expect(foundIn(oneResult(text(1_000)))).toHaveLength(1);
  });

  it.each([
    ['above the largest size', { maxInputChars: 2_000 }, 'input_too_large', oneResult(LOG)],
    ['of more than 12 MiB, unread', { maxInputChars: 1e9 }, 'input_too_large', oneResult('\n'.repeat(6.4e6))],
    ['of a tool that is exempt', { neverPruneTool: (name: string) => name === 'bash' }, 'exempt', oneResult(LOG)],
    [
      'of a path that is exempt',
      { neverPrunePath: (path: string) => path === 'src/a.ts' },
      'exempt',
      oneResult(FILE, { tool: 'read', args: { path: 'src/a.ts' } }),
    ],
    [
      'attached from a path that is exempt',
      { neverPrunePath: (path: string) => path === 'src/a.ts' },
      'exempt',
      [{ role: 'user', content: `<file name="src/a.ts">\n${FILE}</file>` }],
    ],
    [
      'that recover_text gave',
      {},
      'recovered',
      oneResult(LOG, { tool: 'mcp__pruner__recover_text', args: { prune_id: 'x' } }),
    ],
    [
      'that recover_text gave through a bridge',
      {},
      'recovered',
      oneResult(LOG, { tool: 'tool_call', args: { name: 'recover_text', arguments: {} } }),
    ],
    [
      'that looks like an answer of recover_text',
      {},
      'recovered',
      oneResult(JSON.stringify({ raw_text: LOG, metadata: { line_numbering: 'original' } }), { tool: 'x', args: {} }),
    ],
    [
      'that looks like one, wrapped once more',
      {},
      'recovered',
      oneResult(
        JSON.stringify([
          { type: 'text', text: JSON.stringify({ raw_text: LOG, metadata: { line_numbering: 'original' } }) },
        ]),
        { tool: 'x', args: {} },
      ),
    ],
  ])('%s', (_name, over, skip, messages) => expect(only(messages, over).skip).toBe(skip));

  it('if the agent reads the same text again, apart from volatile values', () => {
    const at = (second: number) => LOG.replaceAll(/T12:/g, `T${10 + second}:`);
    const found = foundIn([
      asked,
      ...toolTurn('a', 'bash', { command: 'npm start' }, at(1)),
      ...toolTurn('b', 'bash', { command: 'npm start' }, at(2)),
      ...toolTurn('c', 'bash', { command: 'npm start -- --fast' }, at(3)),
      ...toolTurn('d', 'bash', { command: 'npm start' }, LOG.replace('cannot read', 'could not read')),
    ]);
    expect(found.map(({ job }) => job.keepWhole ?? 'judged')).toEqual(['judged', 'reread', 'judged', 'judged']);
  });
});

describe('a result that an agent without native calls sends as a user message', () => {
  const said = { role: 'assistant', content: 'I run the tests.\n\n```bash\nnpm test -- voucher\n```' };
  const framed = (output: string) => ({
    role: 'user',
    content: `<returncode>0</returncode>\n<output>\n${output}</output>`,
  });

  it('is a text like any other: the inside of its frame, with the call that the model wrote', () => {
    const { job, start, entire, place } = only([asked, said, framed(LOG)]);
    expect(job.text).toBe(LOG);
    expect(job.tool).toBe('bash');
    expect(job.hints).toMatchObject({ origin: 'command', command: 'npm test -- voucher' });
    expect(job.goal.split('\n')).toEqual(['npm test -- voucher', ...said.content.split('\n'), ASKED]);
    expect({ start, entire, chars: place.chars }).toEqual({ start: 36, entire: false, chars: LOG.length });
  });

  it('is not part of later goals', () => {
    const small = framed('the scheduler lost the voucher twice before it gave up on it\n');
    const { goal } = only([asked, said, small, ...toolTurn('c', 'bash', { command: 'npm start' }, LOG)]).job;
    expect(goal).toContain(ASKED);
    expect(goal).not.toContain('scheduler');
  });

  it('passes whole if the same call returns the same text again', () => {
    const texts = foundIn([asked, said, framed(LOG), said, framed(LOG)]);
    expect(texts.map(({ job }) => job.keepWhole)).toEqual([undefined, 'reread']);
  });

  it('excludes later words in the same message, which become part of the next goal', () => {
    const header = { type: 'text', text: "[execute_command for 'npm test'] Result:" };
    const feedback = '<feedback>\nNo, look at the shipping dates of the orders\n</feedback>';
    const turn = { role: 'user', content: [header, { type: 'text', text: `${LOG}\n${feedback}` }] };
    const texts = foundIn([asked, said, turn, ...toolTurn('c', 'bash', { command: 'npm start' }, LOG)]);
    expect(texts[0]?.job.text).toBe(`${LOG}\n`);
    expect(texts[1]?.job.goal).toContain('shipping dates');
  });

  it('is found in JSON inside the frame, at its place in the whole string', () => {
    const json = JSON.stringify({ output: LOG });
    const { job, place, lift } = only([asked, said, framed(json)]);
    expect(job.text).toBe(LOG);
    expect(place).toMatchObject({ json: [36 + json.indexOf(':') + 1], start: 0 });
    const [edit] = lift([{ start: 0, end: LOG.length, text: 'x' }]);
    expect(framed(json).content.slice(edit?.start, edit?.end)).toBe(JSON.stringify(LOG).slice(1, -1));
  });
});

describe('a file that is read a second time', () => {
  it('passes whole, changed or not, whatever tool or command shows it', () => {
    const changed = sourceFile(13);
    const texts = foundIn([
      asked,
      ...toolTurn('1', 'read', { path: 'src/big.ts' }, FILE),
      ...toolTurn('2', 'bash', { command: 'cat src/big.ts' }, changed),
      ...toolTurn('3', 'bash', { command: 'npm start' }, LOG),
      ...toolTurn('4', 'view', { file_path: '/w/src/big.ts', offset: 40 }, FILE),
      ...toolTurn('5', 'read', { path: 'src/other.ts' }, FILE),
    ]);
    expect(texts.map(({ job }) => job.keepWhole)).toEqual([undefined, 'reread', undefined, 'reread', undefined]);
  });

  it('passes whole if a viewer only scrolls in it, by native calls or in text', () => {
    const window = `[File: /w/src/big.ts (900 lines total)]\n(100 more lines above)\n${FILE}`;
    const words = [
      { role: 'assistant', content: 'Further down.\n\n```\ngoto 300\n```' },
      { role: 'user', content: `OBSERVATION:\n${window}` },
    ];
    const texts = foundIn([
      asked,
      ...toolTurn('1', 'open', { path: 'src/big.ts' }, window),
      ...toolTurn('2', 'goto', { line_number: 300 }, window),
      ...words,
      ...toolTurn('3', 'goto', { line_number: 9 }, window.replace('big.ts', 'small.ts')),
    ]);
    expect(texts.map(({ job }) => job.hints.origin)).toEqual(['read', 'read', 'read', 'read']);
    expect(texts.map(({ job }) => job.keepWhole)).toEqual([undefined, 'reread', 'reread', undefined]);
  });

  it('passes whole even if the first reading was too small to be cut', () => {
    const texts = foundIn([
      asked,
      ...toolTurn('1', 'bash', { command: 'head -5 src/big.ts' }, 'a\nb\n'),
      ...toolTurn('2', 'read', { path: 'src/big.ts' }, FILE),
    ]);
    expect(texts.map(({ job }) => job.keepWhole)).toEqual(['reread']);
  });
});
