import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startLines } from '../lib/lines.mjs';
import { API_KEY } from '../lib/session.mjs';

/** Claude Code, held open over a stream of JSON as its SDK does. @param model - id */
export const claude = ({ folder, home, work, url, env, model, timeoutMs }) => {
  mkdirSync(join(home, '.claude'), { recursive: true });
  writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
  const cli = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');
  const own = {
    ...{ ANTHROPIC_API_KEY: API_KEY, ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: model },
    ...{ DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    // with tool search it sends a message of the system, and gets no summary
    ENABLE_TOOL_SEARCH: 'false',
  };
  const stream = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
  const open = (...args) =>
    startLines(cli, ['-p', ...stream, '--allowedTools', 'Bash', ...args], {
      ...{ cwd: work, env: { ...env, ...own }, timeoutMs },
    });
  const first = randomUUID();
  let child = open('--session-id', first);
  let session = first;
  /** The last message of the model, after each task. */
  const ends = [];
  const say = async (words) => {
    const from = child.count;
    child.send({ type: 'user', message: { role: 'user', content: words } });
    let uuid = '';
    const isIt = (record) => {
      if (record.type === 'assistant') uuid = record.uuid;
      if (record.session_id) session = record.session_id;
      return record.type === 'result';
    };
    const { is_error: isError, result } = await child.next(isIt, from);
    if (isError) throw new Error(String(result).slice(0, 300));
    ends.push(uuid);
  };
  const reopen = async (...args) => {
    await child.end();
    child = open(...args);
  };
  /** @param {string} at - message of the model that is the last one kept */
  const goTo = async (words, id, at, ...more) => {
    await reopen('--resume', id, ...(at === undefined ? [] : ['--resume-session-at', at]), ...more);
    await say(words);
  };
  return {
    say,
    restart: () => reopen('--resume', session),
    rewind: (words) => goTo(words, session, ends.at(-2)),
    fork: (words) => goTo(words, session, undefined, '--fork-session'),
    compact: () => say('/compact'),
    far: (words) => goTo(words, first, ends[0], '--fork-session'),
    back: (words) => goTo(words, first),
    end: () => child.end(),
  };
};
