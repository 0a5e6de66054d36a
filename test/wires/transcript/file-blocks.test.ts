import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findFileBlocks, ownWords } from '../../../src/wires/transcript/file-blocks.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';

const FILE = 'first line\nconst x = 1;\nlast line\n';

/** What the user says and what is a file, in the shapes that today's agents send. */
const shapes: Readonly<Record<string, { text: string; path: string; file?: string; words: string }>> = {
  'pi: an element with a name before the prompt': {
    text: `<file name="/w/src/app.ts">\n${FILE}</file>\nWhy does x fail?`,
    path: '/w/src/app.ts',
    words: 'Why does x fail?',
  },
  'cline: file_content behind the task, its surroundings behind that': {
    text: `Why does x fail?\n\n<file_content path="src/app.ts">\n${FILE}</file_content>\n\n<environment_details>\n# Visible\nsrc/other.ts\n</environment_details>`,
    path: 'src/app.ts',
    words: 'Why does x fail?',
  },
  'opencode: a part with path, type and numbered content': {
    text: '<path>/w/src/app.ts</path>\n<type>file</type>\n<content>\n1: first line\n2: const x = 1;\n\n(End of file - total 2 lines)\n</content>',
    path: '/w/src/app.ts',
    file: '1: first line\n2: const x = 1;\n\n(End of file - total 2 lines)\n',
    words: '',
  },
  'kilo: files of path and content': {
    text: `Why does x fail?\n\n<files>\n<file><path>src/app.ts</path>\n<content lines="1-3">\n${FILE}</content>\n</file>\n</files>\n\n<environment_details>\nnow\n</environment_details>`,
    path: 'src/app.ts',
    words: 'Why does x fail?',
  },
  'qwen: referenced files behind the prompt': {
    text: `Why does x fail?\n--- Content from referenced files ---\nContent from @src/app.ts:\n${FILE}--- End of content ---`,
    path: 'src/app.ts',
    words: 'Why does x fail?',
  },
  'aider: the path on the line before the fence': {
    text: `I have *added these files to the chat* so you can go ahead and edit them.\n\nsrc/app.ts\n\`\`\`\n${FILE}\`\`\`\n`,
    path: 'src/app.ts',
    words: '',
  },
  'aider: a longer fence around a file with fences in it': {
    text: 'docs/app.md\n````\n# x\n```\ncode\n```\n````\n',
    path: 'docs/app.md',
    file: '# x\n```\ncode\n```\n',
    words: '',
  },
  'continue: language, path and range behind the fence': {
    text: `\`\`\`ts src/app.ts (1-20)\n${FILE}\`\`\`\n\nWhy does x fail?`,
    path: 'src/app.ts',
    words: 'Why does x fail?',
  },
  'cursor: range and path behind the fence': {
    text: `\`\`\`12:15:src/app.ts\n${FILE}\`\`\`\nWhy does x fail?`,
    path: 'src/app.ts',
    words: 'Why does x fail?',
  },
  'deepseek: file name, begin and end': {
    text: `[file name]: app.ts\n[file content begin]\n${FILE}[file content end]\nWhy does x fail?`,
    path: 'app.ts',
    words: 'Why does x fail?',
  },
  'documents with a source': {
    text: `<documents>\n<document index="1">\n<source>src/app.ts</source>\n<document_content>\n${FILE}</document_content>\n</document>\n</documents>\nWhy does x fail?`,
    path: 'src/app.ts',
    words: 'Why does x fail?',
  },
  'copilot: the time before, an attachment behind': {
    text: `<current_datetime>2026-02-26</current_datetime>\n\nWhy does x fail?\n\n<attachment id="1" filePath="/w/app.ts">\n${FILE}</attachment>`,
    path: '/w/app.ts',
    words: 'Why does x fail?',
  },
  'a frame with Windows line ends': {
    text: '<file path="a.ts">\r\nfirst\r\nlast\r\n</file>\r\nWhy does x fail?',
    path: 'a.ts',
    file: 'first\r\nlast\r\n',
    words: 'Why does x fail?',
  },
  'a page whose own elements look like frames': {
    text: '<file name="index.html">\n<html>\n<content>abc\n</content>\n</html>\n</file>\nWhy does x fail?',
    path: 'index.html',
    file: '<html>\n<content>abc\n</content>\n</html>\n',
    words: 'Why does x fail?',
  },
};

describe('a file in a message of the user', () => {
  it.each(Object.entries(shapes))(
    'is distinguished from the words around it: %s',
    (_name, { text, path, file = FILE, words }) => {
      const blocks = findFileBlocks(text);
      expect(blocks.map((block) => ({ path: block.path, file: text.slice(block.start, block.end) }))).toEqual([
        { path, file },
      ]);
      expect(blocks[0]?.pasted).toBe(false);
      expect(ownWords(text, blocks)).toBe(words);
    },
  );

  it('is found together with other files, each with its path', () => {
    const text = `Compare.\n\na/one.ts\n\`\`\`\n${FILE}\`\`\`\n\nb/two.ts\n\`\`\`\n${FILE}\`\`\`\n<file path="c/three.ts">\n${FILE}</file>`;
    expect(findFileBlocks(text).map(({ path }) => path)).toEqual(['a/one.ts', 'b/two.ts', 'c/three.ts']);
  });

  it('counts as user text if it is a short quotation', () => {
    const text = 'Why does\n```ts\nfoo.bar()\n```\nfail?';
    expect(findFileBlocks(text)).toEqual([]);
    expect(ownWords(text, [])).toBe(text);
  });

  it('counts as neither user text nor a file if it was pasted without a path', () => {
    const text = `Why does this fail?\n\`\`\`\n${'a long line of a log\n'.repeat(100)}\`\`\``;
    const blocks = findFileBlocks(text);
    expect(blocks.map(({ pasted }) => pasted)).toEqual([true]);
    expect(ownWords(text, blocks)).toBe('Why does this fail?');
  });

  it('is not found if its frame is not closed, or contains no line', () => {
    for (const text of [
      '<file path="a.ts">\nx\ny',
      '```a.ts\nx\ny',
      '[file content begin]\nx\ny',
      'Why does <file> not render?',
      '<content>short</content> is what I see',
      '<file path="a.ts"/>\nx\ny',
    ]) {
      expect(findFileBlocks(text)).toEqual([]);
    }
  });
});

describe('elements that agents inject', () => {
  it.each([
    ['<system-reminder>\nThe file /w/a.ts was read:\nsecret plan\n</system-reminder>', ''],
    ['<environment_context>\n  <cwd>/w</cwd>\n</environment_context>', ''],
    ['# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>', ''],
    ['This is the Qwen Code. We are setting up the context for our chat.', ''],
    ['<user-prompt-submit-hook>lint passed</user-prompt-submit-hook>', ''],
    ['<session-start-hook>\non branch main\n</session-start-hook>\nWhy?', 'Why?'],
    ['<hook_prompt hook_run_id="1">Go on.</hook_prompt>', ''],
    ['<hook_context>on branch main</hook_context>', ''],
    ['Stop hook feedback:\n- the tests fail', ''],
    ['<task-notification>\n<status>completed</status>\n</task-notification>', ''],
    ['<turn_aborted>\nThe user interrupted the turn.\n</turn_aborted>', ''],
    ['<system-reminder>\na\n</system-reminder>\nWhy?\n<system-reminder>\nb\n</system-reminder>', 'Why?'],
    ['Why?\n<environment_details>\nnever closed', 'Why?'],
    ['I am working with you on code in a git repository.\nHere are summaries of some files', ''],
  ])('are not words of the user: %j', (text, words) => expect(ownWords(text, findFileBlocks(text))).toBe(words));

  it('are not confused with user text that only looks similar', () => {
    for (const text of ['Is 1 < 2 and 3 > 2?', 'What does <div> mean?', 'Rename <Context> to <Scope>']) {
      expect(ownWords(text, findFileBlocks(text))).toBe(text);
    }
  });
});

const line = fc.constantFrom(
  '<file path="a.ts">',
  '</file>',
  '<file>',
  '<path>a/b.ts</path>',
  '<content>',
  '</content>',
  '```',
  '```ts a/b.ts',
  '````',
  '~~~',
  'src/a.ts',
  '[file name]: x.ts',
  '[file content begin]',
  '[file content end]',
  'Content from @a.ts:',
  '--- End of content ---',
  '<system-reminder>',
  '</system-reminder>',
  'words',
  '',
  '\r',
);

describe('findFileBlocks on any text', () => {
  it('returns blocks in order, inside their frames, without overlap', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof({ weight: 5, arbitrary: line }, fc.string()), { maxLength: 30 }), (lines) => {
        const text = lines.join('\n');
        let last = 0;
        const blocks = findFileBlocks(text);
        for (const { start, end, outerStart, outerEnd } of blocks) {
          expect(outerStart).toBeGreaterThanOrEqual(last);
          expect(start).toBeGreaterThanOrEqual(outerStart);
          expect(end).toBeGreaterThanOrEqual(start);
          expect(outerEnd).toBeGreaterThanOrEqual(end);
          last = outerEnd;
        }
        expect(last).toBeLessThanOrEqual(text.length);
        ownWords(text, blocks);
      }),
      { numRuns: 300 },
    );
  });

  const many = 600_000;
  it.each([
    ['opening elements', '<file path="a.ts">\n'],
    ['opening elements on one line', '<file path="a.ts">'],
    ['fences of every length', '```\n````\n`````\n~~~\n~~~~\n'],
    ['fences that close', '```\nx\n```\n'],
    ['begin marks', '[file content begin]\n'],
    ['Content from', 'Content from @a.ts:\n'],
    ['angle brackets', '<'],
    ['half elements', '<a <a '],
    ['injected elements that stay open', '<context>'],
    ['injected elements within lines that stay open', ' <context>'],
    ['injected elements that close', '<context></context>'],
    ['backticks', `${'`'.repeat(1300)}x\n`],
    ['stars and colons', `${'*:'.repeat(650)}x\n`],
    ['slashes', `${'/a'.repeat(650)}\n`],
    ['dots', `${'.'.repeat(400)}\n`],
    ['white space', `${' '.repeat(1300)}x\n`],
    ['path elements', '<file><path>a.ts</path>\n'],
    ['attributes', `<file ${'a= '.repeat(200)}\n`],
    ['white space alone', ' '],
    ['line ends', '\n'],
  ])('reads 600,000 characters of %s quickly', (_name, unit) => {
    const text = unit.repeat(Math.ceil(many / unit.length));
    const startedAt = cpuMs();
    ownWords(text, findFileBlocks(text));
    expect(cpuMs() - startedAt).toBeLessThan(1_000);
  });
});
