import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { announcesResult, textResult } from '../../../src/wires/transcript/text-results.ts';

const OUTPUT = 'first line\nconst x = 1;\nlast line\n';
const BASH = 'I look.\n\n```bash\ncat src/app.ts\n```';
const HEAD_AND_TAIL =
  '<warning>\nThe output of your last command was too long.\n</warning>' +
  '<output_head>\nfirst\n</output_head>\n<elided_chars>\n9 characters elided\n</elided_chars>\n<output_tail>\nlast\n</output_tail>';

interface Shape {
  readonly said: string;
  readonly header?: string;
  readonly text: string;
  readonly insides: readonly string[];
  readonly call: { readonly name: string; readonly args: unknown };
  readonly words?: string;
}

/** Results as today's versions of agents without native calls send them. */
const shapes: Readonly<Record<string, Shape>> = {
  'mini-swe-agent: return code and output': {
    said: BASH,
    text: `<returncode>0</returncode>\n<output>\n${OUTPUT}</output>`,
    insides: [OUTPUT],
    call: { name: 'bash', args: { command: 'cat src/app.ts' } },
  },
  'mini-swe-agent: head and tail of a long output, behind an exception': {
    said: 'Now.\n\n```mswea_bash_command\nmake\n```\n',
    text: `<exception>timed out</exception>\n<returncode>-1</returncode>\n${HEAD_AND_TAIL}`,
    insides: ['first\n', 'last\n'],
    call: { name: 'bash', args: { command: 'make' } },
  },
  'mini-swe-agent: a command in an element': {
    said: 'Now.\n<mswea_bash_command>ls -R</mswea_bash_command>',
    text: `<returncode>1</returncode>\n<output>\n${OUTPUT}</output>`,
    insides: [OUTPUT],
    call: { name: 'bash', args: { command: 'ls -R' } },
  },
  'SWE-agent: OBSERVATION': {
    said: 'I open it.\n```\nopen src/app.py 12\n```',
    text: `OBSERVATION:\n${OUTPUT}`,
    insides: [OUTPUT],
    call: { name: 'open', args: { path: 'src/app.py' } },
  },
  'SWE-agent: an observation before the prompt of its shell': {
    said: 'I search.\n```\nsearch_dir "voucher" src\n```',
    text: `${OUTPUT}(Open file: /r/src/app.py)\n(Current directory: /r)\nbash-$`,
    insides: [OUTPUT.slice(0, -1)],
    call: { name: 'search_dir', args: { query: 'voucher', path: 'src' } },
  },
  'SWE-agent: an observation in an element': {
    said: BASH,
    text: `<observation>\n${OUTPUT}</observation>`,
    insides: [OUTPUT],
    call: { name: 'bash', args: { command: 'cat src/app.ts' } },
  },
  'OpenHands: the execution of a function': {
    said: 'I look.\n\n<function=str_replace_editor>\n<parameter=command>view</parameter>\n<parameter=path>/w/a.ts</parameter>\n</function>',
    text: `EXECUTION RESULT of [str_replace_editor]:\n${OUTPUT}`,
    insides: [OUTPUT],
    call: { name: 'str_replace_editor', args: { command: 'view', path: '/w/a.ts' } },
  },
  'Cline: a result behind the text that announces it': {
    said: 'I look.\n<execute_command>\n<command>npm test</command>\n<requires_approval>false</requires_approval>\n</execute_command>',
    header: "[execute_command for 'npm test'] Result:",
    text: OUTPUT,
    insides: [OUTPUT],
    call: { name: 'execute_command', args: { command: 'npm test', requires_approval: 'false' } },
  },
  'Roo: files in a result': {
    said: '<read_file>\n<args>\n<file>\n<path>src/app.ts</path>\n</file>\n</args>\n</read_file>',
    header: "[read_file for 'src/app.ts'. Reading multiple files at once is more efficient.] Result:",
    text: `<files>\n<file><path>src/app.ts</path>\n<content lines="1-3">\n${OUTPUT}</content>\n</file>\n</files>`,
    insides: [OUTPUT],
    call: { name: 'read_file', args: { path: 'src/app.ts' } },
  },
  'Cline: frame, result, feedback and surroundings in one text': {
    said: '',
    text: `[search_files for 'voucher' in '*.ts'] Result:\n${OUTPUT}\n<feedback>\nLook at the tests as well\n</feedback>\n<environment_details>\nnow\n</environment_details>`,
    insides: [`${OUTPUT}\n`],
    call: { name: 'search_files', args: { query: 'voucher' } },
    words: 'Look at the tests as well',
  },
  'aider: a command and its output': {
    said: 'Ok.',
    text: `I ran this command:\n\nnpm test\n\nAnd got this output:\n\n${OUTPUT}`,
    insides: [OUTPUT],
    call: { name: 'run', args: { command: 'npm test' } },
  },
};

describe('a result that an agent sends as a user message', () => {
  it.each(Object.entries(shapes))(
    'is recognised by its frame: %s',
    (_, { said, header, text, insides, call, words }) => {
      const result = textResult(text, said, header);
      expect(result?.ranges.map(({ start, end }) => text.slice(start, end))).toEqual(insides);
      expect(result?.call && { name: result.call.name, args: JSON.parse(result.call.args) as unknown }).toEqual(call);
      expect(result?.words).toBe(words ?? '');
    },
  );

  it.each([
    ['what people write', 'Observation: the page is slow since Monday.', 'Shall I look?'],
    ['an observation behind no action', `OBSERVATION:\n${OUTPUT}`, 'I think about it.'],
    ['a frame with words behind it', `<returncode>0</returncode>\n<output>\n${OUTPUT}</output>\nWhy?`, BASH],
    ['a frame inside words', `It printed\nEXECUTION RESULT of [bash]:\n${OUTPUT}`, BASH],
    ['an answer to a question', "[ask_followup_question for 'Which?'] Result:\n<answer>\nThe first\n</answer>", ''],
    ['a list that begins with a bracket', '[read_file for everybody] is what I want', ''],
    ['markup', '<output>\nx\n</output>', BASH],
  ])('is not recognised: %s', (_, text, said) => {
    expect(textResult(text, said)).toBeNull();
  });

  it('may be announced in a separate text, whatever command the text contains', () => {
    expect(announcesResult("[execute_command for 'a\nb'] Result:")).toBe(true);
    expect(announcesResult('[attempt_completion] Result:')).toBe(false);
    expect(announcesResult('[execute_command] Result: 3')).toBe(false);
  });

  it('stays within the text and contains no words of the user, whatever the text contains', () => {
    const piece = fc.constantFrom(...Object.values(shapes).flatMap(({ text, said }) => [text, said]), 'x', '\n', '`');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), fc.array(piece, { maxLength: 3 }), (parts, said) => {
        const text = parts.join('');
        const result = textResult(text, said.join('\n'));
        let last = 0;
        for (const { start, end } of result?.ranges ?? []) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThanOrEqual(start);
          last = end;
        }
        expect(last).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});
