import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A session of two tasks: the context grows to 200,000 tokens, the second task begins at 140,000. */
function twoTasks(name: string, at: string, served: object): unknown[] {
  const about = { isSidechain: false, cwd: '/home/me/shop', sessionId: 's', version: '2.1.332', timestamp: at };
  const user = (content: unknown) => ({ ...about, type: 'user', message: { role: 'user', content } });
  const lines: unknown[] = [user('Why does the checkout fail?')];
  for (let i = 0; i < 45; i++) {
    const [read, written] = [i === 0 ? 0 : 16_000 + 4_000 * i, i === 0 ? 20_000 : 4_000];
    const usage = { input_tokens: 0, cache_read_input_tokens: read, cache_creation_input_tokens: written };
    const isSaid = i === 30;
    const block = isSaid
      ? { type: 'text', text: 'Done.' }
      : { type: 'tool_use', id: `t${i}`, name: 'Bash', input: { i } };
    const message = { id: `m${i}${name}`, role: 'assistant', model: 'claude-opus-5', content: [block] };
    lines.push({
      ...about,
      type: 'assistant',
      requestId: `r${i}${name}`,
      message: { ...message, usage: { ...usage, output_tokens: 50, ...served } },
    });
    lines.push(
      user(isSaid ? 'Now the invoices.' : [{ tool_use_id: `t${i}`, type: 'tool_result', content: `line ${i}` }]),
    );
  }
  return lines;
}

/**
 * Writes six such sessions of Claude Code below a home folder.
 *
 * @param at - time of all requests, ISO 8601
 * @param served - further fields of each usage
 */
export function writeTwoTasks(home: string, at: string, served: object = {}): void {
  const folder = join(home, '.claude/projects/-home-me-shop');
  mkdirSync(folder, { recursive: true });
  for (const name of 'abcdef') {
    const lines = twoTasks(name, at, served).map((line) => JSON.stringify(line));
    writeFileSync(join(folder, `${name}.jsonl`), `${lines.join('\n')}\n`);
  }
}
