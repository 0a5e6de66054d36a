import { resolve } from 'node:path';
import { SAME_STORE_ADVICE, storeDiffers, storePlace } from '@mcp-pruner/agents/store-place.ts';
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
import { usingStore } from 'mcp-pruner/cli/open-store.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { type ProxyHealth, proxyHealth, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { AccessKey, KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { EventRecord } from 'mcp-pruner/core/ports.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { parsed } from 'mcp-pruner/wires/json/value.ts';
import type { KeyDesk } from '../key-desk.ts';
import type { IssuedKey, KeyInput, keyInput as KeyInputSchema, ShownKey } from '../key-input.ts';

const ACTIONS = ['create', 'list', 'set', 'revoke', 'rotate'] as const;
type Action = (typeof ACTIONS)[number];

/** Maximum number of keys per file and transaction. */
const MAX_ISSUED = 100_000;
const ISSUED_AT_ONCE = 1_000;
const PAGE = 1_000;

export const keys: Command = {
  usage:
    'keys create --name <name> --project <project>[,<project>…] | create --from keys.ndjson | list | set <key> | revoke <key> | rotate <key> [options]',
  about:
    "Creates, lists, changes, revokes and rotates the keys that a server with MCP_PRUNER_REQUIRE_KEY requires, in the server's store.\nA key is printed once, on stdout; the store keeps its hash. <key> is an id (key_…) or a name; a revoked key stops working within a second on every server.",
  options: {
    ...configOption,
    name: valued('<name>', 'create: what it is called in lists and events'),
    project: valued('<names>', "create: projects that it opens, separated by commas; '*' for all"),
    from: valued('<file>', 'create: one key per line, as a JSON object like in the admin API; prints JSON'),
    'requests-per-minute': valued('<number>', 'create, set: maximum number of requests to models per minute'),
    'tokens-per-day': valued('<number>', 'create, set: maximum number of tokens per day (UTC), in and out'),
    'dollars-per-month': valued('<number>', 'create, set: budget per month (UTC)'),
    expires: valued('<time>', 'create, set: lifetime, such as 90d, 12h or 30m'),
    json: flag('list: as JSON, one key a line'),
  },
  arguments: { min: 1, max: 2 },

  async run(call, io) {
    const [verb = '', subject] = call.positionals;
    const action = ACTIONS.find((known) => known === verb);
    if (!action)
      throw new UsageError(`unknown action ${JSON.stringify(verb)} of keys: expected one of ${ACTIONS.join(', ')}`);
    const takesKey = action !== 'create' && action !== 'list';
    if (takesKey !== (subject !== undefined)) {
      throw new UsageError(
        takesKey ? `keys ${action} needs a key: its id or its name` : `keys ${action} takes no argument`,
      );
    }
    const inputs = action === 'create' ? await askedFor(call, io) : null;
    if (action === 'set' && Object.keys(await limitsIn(call)).length === 0) {
      throw new UsageError('keys set needs a limit to change, such as --dollars-per-month 50 or --tokens-per-day none');
    }
    return withKeys(call, io, action, async (store) => {
      if (inputs) return create(store, inputs, call, io);
      if (action === 'list') return list(store, call, io);
      if (action === 'create') return 0; // already requested above
      return change(store, action, subject ?? '', call, io);
    });
  },
};

interface KeysInStore {
  readonly keys: KeyStore;
  readonly place: string;
  readonly desk: KeyDesk;
}

/** @throws UserError if the store is unusable */
async function withKeys<T>(call: Call, io: Io, action: Action, use: (store: KeysInStore) => Promise<T>): Promise<T> {
  const { settings } = readSettings(call, io);
  const { storeExists } = await import('mcp-pruner/app/store.ts');
  if (settings.dbPath === ':memory:' && settings.databaseUrl === null) {
    throw new UserError('the store is in the memory of each process (MCP_PRUNER_DB_PATH): keys need a permanent one');
  }
  const exists = storeExists(settings, (path) => io.fileExists(path));
  const running = settings.port === 0 ? null : await proxyHealth(proxyUrl(settings));
  if (!exists) refuseOtherStore(settings, running, null);
  if (action !== 'create' && !exists) {
    throw new UserError(`there is no store at ${settings.dbPath}, and so no key: mcp-pruner keys create makes both`);
  }
  return usingStore(settings, io, false, async (store) => {
    await store.ready();
    if (store.problem() === null) refuseOtherStore(settings, running, await store.id());
    const { KeyDesk } = await import('../key-desk.ts');
    const keys = await store.keys();
    const record = async (events: readonly EventRecord[]): Promise<void> => {
      await store.addEvents(events);
    };
    const desk = new KeyDesk({ keys: async () => keys, clock: io.clock, record, by: 'cli' });
    return await use({ keys, desk, place: storePlace(settings) });
  });
}

/** Prevents creating a key in a store that the server does not use. @throws UserError */
function refuseOtherStore(settings: Settings, running: ProxyHealth | null, ownId: string | null): void {
  const problem = storeDiffers(settings, running, ownId);
  if (problem !== null) throw new UserError([problem, SAME_STORE_ADVICE]);
}

/** @throws UsageError */
async function askedFor(call: Call, io: Io): Promise<readonly KeyInput[]> {
  const { keyInput } = await import('../key-input.ts');
  const file = textOption(call, 'from');
  if (file !== undefined) return inputsIn(file, io, keyInput);
  const projects = [...new Set((textOption(call, 'project') ?? '').split(',').map((one) => one.trim()))];
  const input = {
    ...{ name: textOption(call, 'name') ?? '', projects: projects.filter((one) => one !== '') },
    ...(await limitsIn(call)),
  };
  const { success, data, error } = keyInput.safeParse(input);
  if (success) return [data];
  const [{ path = [], message = '', code = '' } = {}] = error.issues;
  throw new UsageError(code === 'custom' ? `--project: ${message}` : (NEEDS[String(path[0])] ?? message));
}

const NEEDS: Readonly<Record<string, string>> = {
  name: '--name is missing, or longer than 100 characters',
  projects: '--project needs 1 to 50 names of at most 200 characters',
};

/** Reads keys from a file with one JSON object per line. @throws UserError */
function inputsIn(file: string, io: Io, schema: typeof KeyInputSchema): readonly KeyInput[] {
  const path = resolve(io.cwd, file);
  let text: string;
  try {
    text = io.readFile(path);
  } catch (cause) {
    throw new UserError(`cannot read ${path}`, { cause });
  }
  const lines = text.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [{ line, number: i + 1 }]));
  if (lines.length === 0 || lines.length > MAX_ISSUED) {
    throw new UserError(`${path} needs 1 to ${MAX_ISSUED} lines, each a JSON object with name and projects`);
  }
  return lines.map(({ line, number }) => {
    const read = schema.safeParse(parsed(line));
    if (read.success) return read.data;
    const [{ path: at = [], message = '' } = {}] = read.error.issues;
    throw new UserError(`${path}, line ${number}: ${at.join('.') || 'not a JSON object'}: ${message}`);
  });
}

/** Limits given by options; `none` removes a limit. @throws UsageError */
async function limitsIn(call: Call): Promise<Partial<KeyInput>> {
  const { secondsOf } = await import('../key-input.ts');
  const given = <T>(option: string, read: (text: string) => T | null, needs: string): T | null | undefined => {
    const text = textOption(call, option)?.trim();
    if (text === undefined) return undefined;
    if (text === 'none') return null;
    const value = read(text);
    if (value !== null) return value;
    throw new UsageError(`--${option} needs ${needs}, or none`);
  };
  const whole = (text: string): number | null => {
    const number = Number(text.replaceAll('_', ''));
    return /^[\d_]{1,16}$/.test(text) && Number.isSafeInteger(number) && number > 0 ? number : null;
  };
  const dollars = (text: string): number | null =>
    /^\d{1,9}(?:\.\d{1,4})?$/.test(text) && Number(text) > 0 ? Number(text) : null;
  const limits: Partial<KeyInput> = {
    requests_per_minute: given('requests-per-minute', whole, 'a whole number from 1 on'),
    tokens_per_day: given('tokens-per-day', whole, 'a whole number from 1 on'),
    dollars_per_month: given('dollars-per-month', dollars, 'a number such as 50 or 12.50'),
    expires_in_s: given('expires', secondsOf, 'a time of at most ten years, such as 90d, 12h or 30m'),
  };
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

async function create({ desk, place }: KeysInStore, inputs: readonly KeyInput[], call: Call, io: Io): Promise<number> {
  const issued: IssuedKey[] = [];
  for (let at = 0; at < inputs.length; at += ISSUED_AT_ONCE) {
    const some = await desk.issue(inputs.slice(at, at + ISSUED_AT_ONCE));
    if (some === null) {
      const done = issued.length === 0 ? '' : ` (${issued.length} of ${inputs.length} were issued)`;
      throw new UserError(
        `the store has reached its maximum number of keys: revoke some; revoked keys are deleted after 90 days${done}`,
      );
    }
    issued.push(...some);
    if (textOption(call, 'from') !== undefined) for (const key of some) io.out(`${JSON.stringify(key)}\n`);
  }
  if (textOption(call, 'from') !== undefined) {
    io.err(`${issued.length} keys. ${ONCE}\nTheir hashes are kept in ${place}.\n`);
    return 0;
  }
  for (const { id, name, projects, key } of issued) {
    io.out(`${key}\n`);
    io.err(`${id} (${name}) opens ${projects.join(', ')}. ${ONCE}\nIts hash is kept in ${place}.\n`);
  }
  return 0;
}

const ONCE =
  'A key is shown only once: send it as x-mcp-pruner-key, or put /k/<key> before /v1 in the base URL of a client.';

async function change(
  { desk, keys: store }: KeysInStore,
  action: 'revoke' | 'rotate' | 'set',
  subject: string,
  call: Call,
  io: Io,
) {
  const key = find(await store.all(), subject);
  if (action === 'set') {
    const changed = await desk.change(key.id, await limitsIn(call));
    if (changed === null) throw gone(subject);
    io.out(`${lineOf(changed)}\n`);
    return 0;
  }
  if (action === 'revoke') {
    if ((await desk.revoke(key.id)) === null) throw gone(subject);
    io.out(`${key.id} (${key.name}) is revoked\n`);
    return 0;
  }
  const issued = await desk.rotate(key.id);
  if (issued === null) throw gone(subject);
  io.out(`${issued.key}\n`);
  io.err(`${key.id} (${key.name}) has a new text; the old one stops working within a second. ${ONCE}\n`);
  return 0;
}

/** The only matching unrevoked key. @throws UserError */
function find(all: readonly AccessKey[], subject: string): AccessKey {
  const living = all.filter(({ revokedMs }) => revokedMs === null);
  const byId = living.find(({ id }) => id === subject);
  const named = living.filter(({ name }) => name === subject);
  if (byId) return byId;
  const [only, second] = named;
  if (only && !second) return only;
  if (second)
    throw new UserError(
      `several keys are named ${subject}: name one by its id (${named.map(({ id }) => id).join(', ')})`,
    );
  throw gone(subject.startsWith('mpk_') ? 'with this text (name it by its id, not by the key itself)' : subject);
}

function gone(subject: string): UserError {
  return new UserError(`there is no key ${subject}, or it was revoked: mcp-pruner keys list shows them`);
}

async function list({ desk }: KeysInStore, call: Call, io: Io): Promise<number> {
  let count = 0;
  for (let after: string | undefined, page: readonly ShownKey[] = []; ; after = page.at(-1)?.id) {
    page = await desk.list(after, PAGE);
    for (const key of page) io.out(`${call.values.json === true ? JSON.stringify(key) : lineOf(key)}\n`);
    count += page.length;
    if (page.length < PAGE) break;
  }
  if (count === 0 && call.values.json !== true) {
    io.out('no keys: mcp-pruner keys create --name <name> --project <project>\n');
  }
  return 0;
}

function lineOf(key: ShownKey): string {
  const { requests_per_minute, tokens_per_day, dollars_per_month, expires_ms, last_used_ms } = key;
  const about = [
    `opens ${key.projects.join(', ')}`,
    ...(requests_per_minute === null ? [] : [`${requests_per_minute} requests/min`]),
    ...(tokens_per_day === null ? [] : [`${tokens_per_day} tokens/day`]),
    ...(dollars_per_month === null ? [] : [`$${dollars_per_month}/month`]),
    `made ${dayOf(key.created_ms)}`,
    ...(expires_ms === null ? [] : [`until ${dayOf(expires_ms)}`]),
    last_used_ms === null ? 'never used' : `last used ${dayOf(last_used_ms)}`,
  ];
  return `${key.id}  ${key.state.padEnd(7)}  ${key.name}: ${about.join(', ')}`;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
