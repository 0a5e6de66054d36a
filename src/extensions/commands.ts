import type { LazyCommand } from '../cli/command.ts';
import type { Check } from '../cli/doctor/finding.ts';

/** The commands of extensions, loaded when called. */
export const extensionCommands: Readonly<Record<string, LazyCommand>> = {
  keys: {
    summary: 'make, list, revoke and rotate keys of a shared proxy',
    load: async () => (await import('../parts/team/keys/seat/command.ts')).keys,
  },
};

/** The checks of extensions in `mcp-pruner doctor`. */
export const extensionChecks: readonly Check[] = [
  async (settings, io) => (await import('../parts/team/keys/seat/check.ts')).checkKeys(settings, io),
];
