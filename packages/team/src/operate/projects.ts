import {
  type Call,
  type Command,
  configOption,
  flag,
  type Io,
  textOption,
  UsageError,
  valued,
} from 'mcp-pruner/cli/command.ts';
import { usingStore, withStore } from 'mcp-pruner/cli/open-store.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { projectSettings, projectSettingsIn } from 'mcp-pruner/config/project-settings.ts';
import type { ProjectSettings } from 'mcp-pruner/core/ports/project-settings.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';

const ACTIONS = ['list', 'set', 'history'] as const;
const MAX_HISTORY = 100;
const MAX_PROJECT_CHARS = 200;

const FIELDS = {
  mode: 'mode',
  holdout: 'holdout',
  'never-prune-tools': 'neverPruneTools',
  'never-prune-paths': 'neverPrunePaths',
  language: 'language',
  'dollars-per-month': 'dollarsPerMonth',
  'cold-stash': 'coldStash',
  seams: 'seams',
  'text-days': 'textDays',
  'ledger-days': 'ledgerDays',
  'audit-days': 'auditDays',
} as const satisfies Readonly<Record<string, keyof ProjectSettings>>;

export const projects: Command = {
  usage: 'projects list | set <project> [--mode … --holdout … --language …] | history <project> [--json]',
  about: [
    'Shows and changes the settings of single projects; whatever a project does not set is as the server is configured. A change applies within a',
    'second on every proxy, to whatever is new: what was sent before is sent again as it was. `none` removes a setting.',
  ].join('\n'),
  options: {
    ...configOption,
    mode: valued('<mode>', 'set: prune, shadow (only report) or off'),
    holdout: valued('<share>', 'set: share of conversations that are left whole, 0 to 1'),
    'never-prune-tools': valued('<globs>', 'set: tools whose results pass whole, separated by commas'),
    'never-prune-paths': valued('<globs>', 'set: files that pass whole, separated by commas'),
    language: valued('<language>', 'set: of the reasons in markers, fr or en'),
    'dollars-per-month': valued('<number>', 'set: budget per month (UTC); 429 beyond it'),
    'cold-stash': valued('<when>', 'set: put old results aside while caches are cold: on, measure or off'),
    seams: valued('<when>', 'set: have the provider summarise finished work: on, measure or off'),
    'text-days': valued('<days>', 'set: erase texts and conversations that are unused for this long'),
    'ledger-days': valued('<days>', 'set: erase bills of requests after this long (31 or more)'),
    'audit-days': valued('<days>', 'set: erase events after this long, including the audit trail'),
    json: flag('list, history: as JSON, one row a line'),
  },
  arguments: { min: 1, max: 2 },

  async run(call, io) {
    const [verb = '', project] = call.positionals;
    const action = ACTIONS.find((known) => known === verb);
    if (!action) throw new UsageError(`unknown action ${JSON.stringify(verb)}: expected one of ${ACTIONS.join(', ')}`);
    if ((action === 'list') !== (project === undefined)) {
      throw new UsageError(
        action === 'list' ? 'projects list takes no argument' : `projects ${action} needs a project`,
      );
    }
    if (action === 'set') return set(call, io, project ?? '', changesIn(call));
    const rows = await withStore(call, io, ({ projectSettings: store }) =>
      action === 'list' ? store.current() : store.history(project ?? '', MAX_HISTORY),
    );
    for (const { number, project: name, atMs, author, settings } of rows) {
      const at = new Date(atMs).toISOString();
      const row = { number, project: name, at, author, settings: projectSettingsIn(settings) };
      io.out(call.values.json === true ? `${JSON.stringify(row)}\n` : `${at}  ${name}: ${settings} (by ${author})\n`);
    }
    if (rows.length === 0 && call.values.json !== true) io.out('no settings of projects were found\n');
    return 0;
  },
};

/** The settings to change; `null` for settings to remove. @throws UsageError */
function changesIn(call: Call): ReadonlyMap<keyof ProjectSettings, unknown> {
  const changes = new Map<keyof ProjectSettings, unknown>();
  for (const [option, field] of Object.entries(FIELDS)) {
    const text = textOption(call, option)?.trim();
    if (text === undefined) continue;
    const value = text === 'none' ? null : readValue(field, text);
    const fits = value === null || projectSettings.safeParse({ [field]: value }).success;
    if (!fits) throw new UsageError(`--${option} ${JSON.stringify(text)}: ${ALLOWED[field]}, or none`);
    changes.set(field, value);
  }
  if (changes.size > 0) return changes;
  throw new UsageError(
    `projects set needs one of ${Object.keys(FIELDS)
      .map((option) => `--${option}`)
      .join(', ')}`,
  );
}

const ALLOWED: Readonly<Record<keyof ProjectSettings, string>> = {
  mode: 'allowed is prune, shadow or off',
  holdout: 'allowed is a number from 0 to 1',
  neverPruneTools: 'allowed are up to 200 globs with commas between',
  neverPrunePaths: 'allowed are up to 200 globs with commas between',
  language: 'allowed is fr or en',
  dollarsPerMonth: 'allowed is a number above 0',
  coldStash: 'allowed is on, measure or off',
  seams: 'allowed is on, measure or off',
  textDays: 'allowed are whole days from 1 to 3650',
  ledgerDays: 'allowed are whole days from 31 to 3650',
  auditDays: 'allowed are whole days from 1 to 3650',
};

const NUMBERS: ReadonlySet<string> = new Set(['holdout', 'dollarsPerMonth', 'textDays', 'ledgerDays', 'auditDays']);

const WORDS: ReadonlySet<string> = new Set(['mode', 'language', 'coldStash', 'seams']);

function readValue(field: keyof ProjectSettings, text: string): unknown {
  if (NUMBERS.has(field)) return text === '' ? text : Number(text);
  if (WORDS.has(field)) return text;
  return text.split(',').flatMap((glob) => (glob.trim() === '' ? [] : [glob.trim()]));
}

async function set(call: Call, io: Io, project: string, changes: ReadonlyMap<string, unknown>): Promise<number> {
  if (project === '' || project.length > MAX_PROJECT_CHARS || /\p{Cc}/u.test(project)) {
    throw new UsageError(`a project needs a name of at most ${MAX_PROJECT_CHARS} characters`);
  }
  const { settings } = readSettings(call, io);
  return usingStore(settings, io, false, async (store) => {
    await store.ready();
    const held = (await store.projectSettings.current()).find((row) => row.project === project);
    const before = held ? projectSettingsIn(held.settings) : {};
    if (before === null)
      throw new UserError(`a newer version of the program wrote the settings of ${project}: upgrade first`);
    const merged = Object.entries({ ...before, ...Object.fromEntries(changes) }).filter(([, value]) => value !== null);
    const text = JSON.stringify(Object.fromEntries(merged));
    const atMs = io.clock.nowMs();
    const author = `cli:${io.env.USER ?? io.env.USERNAME ?? 'unknown'}`;
    await store.projectSettings.set({ project, atMs, author, settings: text });
    const event = { tsMs: atMs, kind: 'project_settings_changed', level: 'info', runId: 'server', opId: null } as const;
    await store.addEvents([
      { ...event, payload: { project, by: author, changed: [...changes.keys()].join(', ') }, project, audit: true },
    ]);
    io.out(`${project}: ${text}\n`);
    return 0;
  });
}
