import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { type Command, configOption, flag } from 'mcp-pruner/cli/command.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { readLimits } from './report.ts';
import { readSeam } from './seam.ts';
import { lineOptions, runLine } from './statusline/command.ts';
import { limitsText } from './text.ts';

export const limitsCommand: Command = {
  usage: 'limits [--json] | --line [--parts a,b] [--session <id>|--latest] [--searchable]',
  about:
    'Shows the limits of your subscriptions as the providers report them: how much is used, when it begins anew, how long it\n' +
    'lasts at this rate, and which sessions and projects used most of it. Only answers through the proxy are seen; what\n' +
    'other programs and machines use is shown as "elsewhere". Also names the finished work that the newest conversation repeats.\n' +
    '--line instead prints one line about a session: its context, how long the cache lasts, what the next turn costs, the limits\n' +
    'and what was saved. It reads the JSON that Claude Code writes to status line commands; for tmux, starship and shells there\n' +
    'are --session and --latest. mcp-pruner setup claude --statusline --write sets it up.',
  options: { ...configOption, json: flag('print JSON'), ...lineOptions },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    if (call.values.line === true) return runLine(call, io);
    const nowMs = io.clock.nowMs();
    const { settings } = readSettings(call, io);
    const { report, keys } = await withStore(call, io, async (store) => {
      const [limits, seam] = await Promise.all([
        readLimits(store.sql, nowMs),
        readSeam(store.ledger, pricesOf(settings), nowMs),
      ]);
      const report = { ...limits, seam };
      const hasKeys = report.accounts.some(({ windows }) => windows.some((one) => one.keys.length > 0));
      const named = hasKeys ? await (await store.keys()).list({ limit: 1_000 }) : [];
      return { report, keys: new Map(named.map(({ id, name }) => [id, name])) };
    });
    const { seam } = report;
    const shown = { ...report, seam: seam && { ...seam, client: undefined } };
    io.out(call.values.json === true ? `${JSON.stringify(shown, null, 2)}\n` : limitsText(report, { nowMs, keys, io }));
    return 0;
  },
};
