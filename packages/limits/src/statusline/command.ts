import { type Call, type Command, type Io, textOption } from 'mcp-pruner/cli/command.ts';
import { PARTS } from './line.ts';
import { printLine } from './main.ts';

export const lineOptions: Command['options'] = {
  line: { type: 'boolean', doc: 'print the status line' },
  parts: {
    type: 'string',
    value: '<list>',
    doc: `--line: which parts, in order (default: ${PARTS.join(',')}; also compact)`,
  },
  session: { type: 'string', value: '<id>', doc: '--line: the session with this id' },
  latest: { type: 'boolean', doc: '--line: the session that was active last' },
  searchable: { type: 'boolean', doc: '--line, for a hook after a compaction: which results recall can still find' },
  url: { type: 'string', value: '<url>', doc: '--line: the proxy (default: the one of the agent or of this machine)' },
  'token-file': { type: 'string', value: '<file>', doc: "--line: the file with the proxy's token" },
};

/** `mcp-pruner limits --line`. The entry point runs the short form `statusline` with minimal imports. */
export async function runLine(call: Call, io: Io): Promise<number> {
  const text = (name: string): string | undefined => textOption(call, name);
  await printLine(
    {
      parts: text('parts'),
      session: text('session'),
      latest: call.values.latest === true,
      searchable: call.values.searchable === true,
      url: text('url'),
      'token-file': text('token-file'),
    },
    { ...io, nowMs: () => io.clock.nowMs() },
  );
  return 0;
}
