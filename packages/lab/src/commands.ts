import type { LazyCommand } from 'mcp-pruner/cli/command.ts';

/** The commands of the laboratory. They are not part of the published program. */
export const labCommands: Readonly<Record<string, LazyCommand>> = {
  eval: {
    group: 'lab',
    summary: "measure the pruner on a repository's own history",
    load: async () => (await import('./command.ts')).evalCommand,
  },
  replay: {
    group: 'lab',
    summary: 'show what pruning would have saved in recorded conversations',
    load: async () => (await import('./replay/command.ts')).replay,
  },
};
