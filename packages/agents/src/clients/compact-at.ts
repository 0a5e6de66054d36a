import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { readLooseJson } from '../edit-json.ts';
import { settingsFile } from './claude.ts';
import type { ClientPlace, Edit, JsonEntry } from './client.ts';
import { configFile } from './codex.ts';
import { asObject, valueAt } from './merge-json.ts';

/** Name of these edits, which are applied and undone with a backup of their own. */
const APART = 'compaction';
/** Claude Code 2.1.311 and later compacts this far below its window, which is at least the smallest one. */
const CLAUDE_RESERVE = 33_000;
const CLAUDE_LEAST = 100_000;
/** The window of all current Gemini models; Gemini CLI takes a share of it. */
const GEMINI_WINDOW = 1_048_576;
const SHARE_DIGITS = 4;

/** Edits that make clients compact at a length in tokens, by client. */
const edits: Readonly<Record<string, (place: ClientPlace, tokens: number) => Edit>> = {
  // code.claude.com/docs/en/settings: autoCompactWindow; an entry for a model in modelSettings wins over it
  claude: (place, tokens) => {
    const file = settingsFile(place);
    const value = Math.max(CLAUDE_LEAST, tokens + CLAUDE_RESERVE);
    const models = asObject(valueAt(readLooseJson(place.readFile(file)) ?? {}, ['modelSettings']) ?? {});
    const own = Object.keys(models).filter((model) => asObject(models[model] ?? {}).autoCompactWindow !== undefined);
    const entries: JsonEntry[] = [
      { path: ['autoCompactWindow'], value },
      ...own.map((model): JsonEntry => ({ path: ['modelSettings', model, 'autoCompactWindow'], value })),
    ];
    return { format: 'json', file, feature: APART, entries };
  },
  // developers.openai.com/codex/config-reference: model_auto_compact_token_limit
  codex: (place, tokens) => ({
    format: 'toml',
    file: configFile(place),
    feature: APART,
    replaces: true,
    top: { model_auto_compact_token_limit: tokens },
    tables: {},
  }),
  // geminicli.com/docs/cli/settings: model.compressionThreshold, a share of the window
  gemini: (place, tokens) => ({
    format: 'json',
    file: join(place.homeDir, '.gemini', 'settings.json'),
    comments: true,
    feature: APART,
    entries: [
      {
        path: ['model', 'compressionThreshold'],
        value: Math.min(1, Number((tokens / GEMINI_WINDOW).toFixed(SHARE_DIGITS))),
      },
    ],
  }),
};

export function hasCompactAt(client: string): boolean {
  return Object.hasOwn(edits, client);
}

export const compactAtClients: readonly string[] = Object.keys(edits);

/** The edit that makes a client compact at a length in tokens; its undo is the same edit with any length. */
export function compactAtEdit(client: string, place: ClientPlace, tokens: number): Edit {
  const edit = edits[client]?.(place, tokens);
  if (edit === undefined) throw new Error(`${client} has no setting for this`);
  return edit;
}

/** A length that a user has set: product name of the client's user agent, and models, as in `config/clients.toml`. */
interface OwnLength {
  readonly client: string;
  readonly model: string;
  readonly tokens: number;
}

/** The lengths at which the user's own settings make clients compact. Files that cannot be read count as absent. */
export function ownLengths(place: ClientPlace): readonly OwnLength[] {
  return [claudeLengths, codexLengths, geminiLengths].flatMap((read) => {
    try {
      return read(place);
    } catch {
      return []; // setup and doctor report broken files
    }
  });
}

function claudeLengths(place: ClientPlace): OwnLength[] {
  const settings = readLooseJson(place.readFile(settingsFile(place))) ?? {};
  const models = Object.entries(asObject(valueAt(settings, ['modelSettings']) ?? {}));
  const windows: [model: string, window: unknown][] = [
    ...models.map(([model, of]): [string, unknown] => [model, asObject(of ?? {}).autoCompactWindow]),
    ['*', valueAt(settings, ['autoCompactWindow'])],
  ];
  return windows.flatMap(([model, window]) =>
    isLength(window) ? { client: 'claude-cli', model, tokens: Math.max(CLAUDE_LEAST, window) - CLAUDE_RESERVE } : [],
  );
}

function codexLengths(place: ClientPlace): OwnLength[] {
  const text = place.readFile(configFile(place));
  const tokens = text === null ? undefined : parseToml(text).model_auto_compact_token_limit;
  return isLength(tokens) ? [{ client: 'codex*', model: '*', tokens }] : [];
}

function geminiLengths({ homeDir, readFile }: ClientPlace): OwnLength[] {
  const settings = readLooseJson(readFile(join(homeDir, '.gemini', 'settings.json'))) ?? {};
  const share = valueAt(settings, ['model', 'compressionThreshold']);
  if (typeof share !== 'number' || !(share > 0 && share <= 1)) return [];
  return [{ client: 'GeminiCLI*', model: 'gemini-*', tokens: Math.round(share * GEMINI_WINDOW) }];
}

function isLength(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0;
}

/** The length at which Claude Code really compacts: its window has a minimum. */
export function reachedLength(client: string, tokens: number): number {
  return client === 'claude' ? Math.max(CLAUDE_LEAST - CLAUDE_RESERVE, tokens) : tokens;
}
