import { describe, expect, it } from 'vitest';
import { Ownership } from '../../src/core/ownership.ts';
import { lineAt, splitLines } from '../../src/engine/text/lines.ts';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { chatBody, contentAt, type Message, oneResult, toolTurn } from '../helpers/chat.ts';
import { openRewriter, openStore, verdicts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const LOG = serverLog(600, 3);
const LINES = splitLines(LOG);
const ANSWER: Message = { role: 'assistant', content: 'I look at the lines that were cut.' };
const part = (from: number, to: number, format = (text: string, _line: number): string => text): string =>
  Array.from({ length: to - from + 1 }, (_, i) => `${format(lineAt(LINES, from + i), from + i)}\n`).join('');

/** A conversation in which a log was cut, with the turns that follow; the last result as it was sent. */
async function lastOf(turns: (pruneId: string) => readonly (readonly [command: string, output: string])[]) {
  const rewriter = openRewriter();
  const first = oneResult(LOG);
  const cut = contentAt((await rewriter.rewrite(chatBody(first))).body, first.length - 1);
  let messages = first;
  let sent = { text: '', verdict: '' };
  for (const [i, [command, output]] of turns(idIn(cut)).entries()) {
    messages = [...messages, ANSWER, ...toolTurn(`r${i}`, 'bash', { command }, output)];
    const rewritten = await rewriter.rewrite(chatBody(messages));
    sent = { text: contentAt(rewritten.body, messages.length - 1), verdict: verdicts(rewritten).at(-1) ?? '' };
  }
  return sent;
}

const idIn = (text: string): string => text.split('\n').map(parseMarker).find(Boolean)?.pruneId ?? '';

describe('lines that a shell command has already shown', () => {
  it.each<[string, (text: string, line: number) => string]>([
    ['as they are', (text) => text],
    ['with numbers of nl', (text, line) => `${String(line).padStart(6)}\t${text}`],
    ['with numbers of grep', (text, line) => `${line}:${text}`],
    ['as a diff shows them', (text, line) => `-${line}  ${text}`],
    ['indented', (text) => `  ${text}`],
    ['with carriage returns', (text) => `${text}\r`],
  ])('pass whole when a file shows them again, %s', async (_form, format) => {
    const output = part(20, 180, format);
    const { text, verdict } = await lastOf((id) => [
      [`mcp-pruner recover ${id} --lines 20-180 > kept.txt; ls`, 'kept.txt\n'],
      ['sed -n "1,400p" kept.txt | column', output],
    ]);
    expect(text).toBe(output);
    expect(verdict).toBe('recovered');
  });

  it('stay in an output of mostly other lines, but only if they were requested', async () => {
    const given = part(20, 50);
    const { text } = await lastOf((id) => [
      [`npm test; mcp-pruner recover ${id} --lines 20-50`, serverLog(300, 8) + given + part(60, 260)],
    ]);
    expect(text).toContain(given);
    expect(text).not.toContain(part(60, 260));
  });

  it('do not include lines of an original that another project owns', async () => {
    const owned = new Set<string>();
    const projects = {
      claim: async (project: string, ids: readonly string[]) => ids.forEach((id) => void owned.add(project + id)),
      owned: async ([project]: readonly string[], ids: readonly string[]) =>
        new Set(ids.filter((id) => owned.has(`${project}${id}`))),
    };
    const store = openStore();
    const owners = new Ownership(async () => projects as never, store);
    const rewriter = openRewriter({ store, owners });
    const of = (project: string) => ({ project, task: '', requestId: '' });
    const first = oneResult(LOG);
    const id = idIn(contentAt((await rewriter.rewrite(chatBody(first), of('a'))).body, first.length - 1));
    const args = { command: `npm start; mcp-pruner recover ${id}` };
    const inProject = async (project: string, text: string) =>
      verdicts(await rewriter.rewrite(chatBody(oneResult(text, { args })), of(project)));
    expect(await inProject('a', part(1, 300))).toEqual(['recovered']);
    expect(await inProject('b', part(1, 299))).toEqual(['cut']);
  });

  it('are not recognised in a conversation without such a command', async () => {
    const { verdict } = await lastOf(() => [['tail -300 app.log', part(300, 600)]]);
    expect(verdict).toBe('cut');
  });
});
