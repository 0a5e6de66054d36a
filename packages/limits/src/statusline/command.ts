import { type Command, textOption } from 'mcp-pruner/cli/command.ts';
import { PARTS } from './line.ts';
import { printLine } from './main.ts';

/** `mcp-pruner statusline`. The entry point runs it with minimal imports; this adds help and option checks. */
export const statusline: Command = {
  usage: 'statusline [--parts a,b] [--session <id>|--latest] [--searchable]',
  about:
    "Prints one line about a session: its context, how long the cache lasts, what the next turn costs, the subscription's\n" +
    'limits and what was saved. Reads the JSON that Claude Code writes to status line commands; for tmux, starship and\n' +
    'shells there are --session and --latest. mcp-pruner setup claude --statusline --write sets it up.',
  options: {
    parts: {
      type: 'string',
      value: '<list>',
      doc: `which parts, in order (default: ${PARTS.join(',')}; also compact)`,
    },
    session: { type: 'string', value: '<id>', doc: 'the session with this id' },
    latest: { type: 'boolean', doc: 'the session that was active last' },
    searchable: { type: 'boolean', doc: 'for a hook after a compaction: which results recall can still find' },
    url: { type: 'string', value: '<url>', doc: 'the proxy (default: the one of the agent or of this machine)' },
    'token-file': { type: 'string', value: '<file>', doc: "the file with the proxy's token" },
  },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
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
  },
};
