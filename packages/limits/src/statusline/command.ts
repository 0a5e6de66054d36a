import { type Call, type Command, flag, type Io, textOption, valued } from 'mcp-pruner/cli/command.ts';
import { PARTS } from './line.ts';
import { printLine } from './main.ts';

export const lineOptions: Command['options'] = {
  line: flag('print the status line'),
  parts: valued('<list>', `--line: which parts, in order (default: ${PARTS.join(',')}; also compact)`),
  session: valued('<id>', '--line: the session with this id'),
  latest: flag('--line: the session that was active last'),
  searchable: flag('--line, for a hook after a compaction: which results recall can still find'),
  url: valued('<url>', '--line: the proxy (default: the one of the agent or of this machine)'),
  'token-file': valued('<file>', "--line: the file with the proxy's token"),
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
