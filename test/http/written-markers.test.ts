import { describe, expect, it } from 'vitest';
import type { RunFigures } from '../../src/core/ports/run-figures.ts';
import { formatMarker, formatShortMarker } from '../../src/engine/text/marker.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';

const full = formatMarker({ pruneId: 'prn_0123456789ab', startLine: 4, endLine: 90, reason: 'hors focus' });
const short = formatShortMarker({ startLine: 4, endLine: 90 });

/** Calls of the model, and whether they write a marker into a file. */
const CALLS: readonly (readonly [string, string, object | string, boolean])[] = [
  ['a whole file', 'Write', { file_path: 'a.ts', content: `import x\n${full}\nexport y\n` }, true],
  ['a whole file with a short marker', 'write_file', { path: 'a.ts', content: `a\n${short}\nb` }, true],
  ['an edit', 'Edit', { file_path: 'a.ts', old_string: 'a', new_string: `a\n${full}` }, true],
  ['several edits', 'MultiEdit', { file_path: 'a.ts', edits: [{ old_string: 'a', new_string: full }] }, true],
  [
    'a patch',
    'apply_patch',
    { input: `*** Begin Patch\n*** Update File: a.ts\n@@ a\n-b\n+${full}\n*** End Patch` },
    true,
  ],
  ['a patch as plain text', 'apply_patch', `*** Begin Patch\n*** Add File: a.ts\n+${short}\n*** End Patch`, true],
  ['a heredoc', 'Bash', { command: `cat > a.ts <<'EOF'\na\n${full}\nb\nEOF` }, true],
  [
    'an editor of another client',
    'str_replace_based_edit_tool',
    { command: 'create', path: 'a', file_text: full },
    true,
  ],
  ['the old text of an edit', 'Edit', { file_path: 'a.ts', old_string: full, new_string: 'the real lines' }, false],
  ['the context of a patch', 'apply_patch', { input: `*** Begin Patch\n@@ a\n-${full}\n+real\n*** End Patch` }, false],
  ['a search for markers', 'Bash', { command: `grep -n '${full}' a.ts` }, false],
  ['a recovery', 'recover_text', { prune_id: 'prn_0123456789ab', note: full }, false],
  ['a file without a marker', 'Write', { file_path: 'a.ts', content: 'const a = [[1]];' }, false],
];

describe('a marker that the model writes into a file', () => {
  it.each(CALLS)('is reported and never blocked: %s', async (_, name, args, writes) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(
        JSON.stringify({
          choices: [{ message: { role: 'assistant', content: 'Done.' } }],
          usage: { prompt_tokens: 9, completion_tokens: 1 },
        }),
      );
    });
    const proxy = await startProxy(upstream);
    const called = typeof args === 'string' ? args : JSON.stringify(args);
    const messages = [
      { role: 'user', content: 'Mend the file.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name, arguments: called } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'ok' },
      { role: 'user', content: `Here is the log.\n${serverLog(3)}` },
    ];
    const body = JSON.stringify({ model: 'gpt-5', messages });
    const answer = await fetch(`${proxy.url}/run/abcdef0123456789abcdef0123456789/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    expect(upstream.last.body.toString()).toBe(body);
    const [line] = await proxy.requestLines(1);
    expect(line?.fallbacks ?? []).toEqual(writes ? ['marker_written'] : []);
    const figures = (await (await fetch(`${proxy.url}/run/abcdef0123456789abcdef0123456789`)).json()) as RunFigures;
    expect(figures.markersWritten ?? 0).toBe(writes ? 1 : 0);
  });
});
