import type { Io } from 'mcp-pruner/cli/command.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { settingsFile } from './clients/claude.ts';
import type { ClientPlace, Edit, JsonValue } from './clients/client.ts';
import { hooksFile } from './clients/codex.ts';
import { valueAt } from './clients/merge-json.ts';
import { readLooseJson } from './edit-json.ts';
import { type ApartSetup, lineCommand } from './status-line.ts';

const PATH: readonly [string, string] = ['hooks', 'SessionStart'];
/** Seconds after which the agent continues without the hook. */
const TIMEOUT_S = 10;
const OPTION = '--searchable';

/** Hook files, by agent. Both agents use the same format. */
const FILES: ReadonlyMap<string, (place: ClientPlace) => string> = new Map([
  ['claude', settingsFile],
  ['codex', hooksFile],
]);

export function hasCompactionHook(client: string): boolean {
  return FILES.has(client);
}

/**
 * Appends a hook that states, after a compaction, what can still be searched.
 *
 * @throws UserError if the installed program cannot be found
 */
export function compactionHookEdit(client: string, place: ClientPlace, settings: Settings, io: Io): ApartSetup {
  const { file } = editTo(client, place, []);
  const content = readLooseJson(place.readFile(file)) ?? {};
  if (hasPlugin(content)) return { edit: null, note: `${file}: the plugin mcp-pruner is on, and it has this hook` };
  const existing = valueAt(content, PATH);
  const hooks = Array.isArray(existing) ? existing : [];
  const command = lineCommand(settings, io, OPTION);
  const note = `${file}: the hook is set already`;
  if (JSON.stringify(hooks).includes(JSON.stringify(command))) return { edit: null, note };
  const others = hooks.filter((one) => !isOwn(one));
  const own = { matcher: 'compact', hooks: [{ type: 'command', command, timeout: TIMEOUT_S }] };
  return { edit: editTo(client, place, [...others, own]), note };
}

/** The edit whose backup `--undo` restores. */
export function compactionHookUndo(client: string, place: ClientPlace): Edit {
  return editTo(client, place, null);
}

function editTo(client: string, place: ClientPlace, value: JsonValue): Edit {
  const file = FILES.get(client)?.(place) ?? '';
  return { format: 'json', file, feature: 'hook', entries: [{ path: PATH, value, isOwn }] };
}

function isOwn(hook: JsonValue): boolean {
  return JSON.stringify(hook).includes(` statusline ${OPTION}`);
}

/** Whether Claude Code uses this product's plugin, from any marketplace. */
function hasPlugin(settings: JsonValue): boolean {
  const plugins = valueAt(settings, ['enabledPlugins']);
  if (typeof plugins !== 'object' || plugins === null) return false;
  return Object.entries(plugins).some(([name, isOn]) => isOn === true && name.startsWith('mcp-pruner@'));
}
