import { describe, expect, it } from 'vitest';
import { whyWhole } from '../../src/core/request/why-whole.ts';
import { Conversation } from '../../src/wires/goal/conversation.ts';

const lines = (count: number): string => 'const value = 1;\n'.repeat(count);

function why(
  name: string,
  args: object,
  { said = 'please go on with it', count = 150, head = '', files = [] as string[] } = {},
) {
  const conversation = new Conversation();
  conversation.userSaid(said);
  const call = { name, args: JSON.stringify(args) };
  return whyWhole({ call, files, isRepeated: false, text: head + lines(count), conversation });
}

describe('a result passes whole', () => {
  it('if the user names its file, unless it is a log', () => {
    const said = 'fix parse-args.ts, and look at server.log';
    expect(why('Read', {}, { said, files: ['src/parse-args.ts'] })).toBe('named');
    expect(why('Read', {}, { said, files: ['logs/server.log'] })).toBe('');
  });

  it('but not if its call asks a question, whatever names the file and however few lines are read', () => {
    const asked = { file_path: 'src/parse-args.ts', context_focus_question: 'Which flags are read?' };
    expect(why('Read', asked, { said: 'fix parse-args.ts', files: ['src/parse-args.ts'] })).toBe('');
    expect(why('Read', { ...asked, offset: 300, limit: 150 })).toBe('');
    expect(why('Task', { prompt: 'look', context_focus_question: 'Where?' })).toBe('report');
  });

  it('if the newest plan names its file', () => {
    const conversation = new Conversation();
    conversation.planned('{"step":"edit store.ts"}');
    const again = Conversation.fromText(conversation.toText());
    for (const one of [conversation, again]) expect(one.names(['src/store.ts'])).toBe(true);
  });

  it('if it is the report of another agent', () => {
    expect(why('Task', { prompt: 'look' })).toBe('report');
    expect(why('task_list', {}, { count: 400 })).toBe('');
  });

  it('if the agent read a window of at most 200 lines', () => {
    expect(why('Read', { file_path: 'a.ts', offset: 300, limit: 150 })).toBe('window');
    expect(why('shell', { command: "sed -n '300,450p' a.ts" })).toBe('window');
    expect(why('Read', { file_path: 'a.ts', offset: 300, limit: 900 }, { count: 900 })).toBe('');
    expect(why('Read', { file_path: 'a.ts' })).toBe('');
  });

  it('if the call limits its own output to at most 200 lines or entries, unless it asks a question', () => {
    const limited = [
      'git log -n 120',
      'cd app && git log --oneline -40',
      'git log --max-count=30 --stat',
      'npm run build 2>&1 | head -50',
      "bash -lc 'cat notes.txt | head -n 80'",
      'rg --max-count 5 "a|b" src',
      'grep -rn -m3 value src',
      'npm test 2>&1 | tail -n 60',
      'git log | head -50 | cut -c1-120 | nl',
      'for n in 61 62 64; do echo "== $n"; gh pr view $n | head -20; done',
      'for f in docs/*.md\ndo\n  head -100 $f\ndone',
      'git ls-files | while read f; do git log -3 $f; done',
      'for n in 1 2; do gh pr view $n; done | head -80',
    ];
    for (const command of limited) expect(why('Bash', { command }, { count: 900 }), command).toBe('window');
    expect(why('Grep', { pattern: 'value', head_limit: 100 }, { count: 400 })).toBe('window');
    const free = [
      'git log',
      'git log -n 5000',
      'head -3 a.txt | sort -R; npm test',
      'head -c 9000 a.txt',
      'git log -n 9; npm test',
      'npm test | tail -n +20',
      'git log | head -50 | xargs git show',
      'for n in 61 62 64; do gh pr view $n; done',
      'for n in 61 62 64; do gh pr view $n | head -150; done',
      'for n in 61 62 64; do gh pr view $n | head -20; done; npm test',
    ];
    for (const command of free) expect(why('Bash', { command }, { count: 900 }), command).toBe('');
    const asked = { command: 'git log -n 120', context_focus_question: 'When was the cache added?' };
    expect(why('Bash', asked, { count: 900 })).toBe('');
  });
});
