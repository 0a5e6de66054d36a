import type { Settings } from '../config/settings.ts';
import type { AccessKey, KeyStore } from '../core/ports/keys.ts';
import type { EventRecord } from '../core/ports.ts';
import { StoreUnavailable, UserError } from '../errors.ts';
import type { StoreHandle } from '../store/handle.ts';
import { type Call, type Command, configOption, type Io, textOption, UsageError } from './command.ts';
import { readSettings } from './read-settings.ts';
import { type ProxyHealth, proxyHealth, proxyUrl } from './run-proxy.ts';
import { SAME_STORE_ADVICE, storeDiffers, storePlace } from './store-place.ts';

const ACTIONS = ['create', 'list', 'revoke', 'rotate'] as const;
type Action = (typeof ACTIONS)[number];

const MAX_NAME_CHARS = 100;
const MAX_PROJECT_CHARS = 200;
const MAX_PROJECTS = 50;
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_EXPIRES_MS = 3_650 * 86_400_000;

export const keys: Command = {
  usage: 'keys create --name <name> --project <project>[,<project>…] | list | revoke <key> | rotate <key> [options]',
  about:
    'Makes, shows, ends and replaces the keys that a server with MCP_PRUNER_REQUIRE_KEY asks for, in the store that it uses.\nA key is printed once, on stdout; the store keeps its hash. <key> is an id (key_…) or a name; what is revoked ends within a second on every server.',
  options: {
    ...configOption,
    name: { type: 'string', value: '<name>', doc: 'create: what it is called in lists and events' },
    project: { type: 'string', value: '<names>', doc: "create: what it opens, with commas between; '*' for all" },
    'requests-per-minute': { type: 'string', value: '<number>', doc: 'create: most requests to models per minute' },
    'tokens-per-day': { type: 'string', value: '<number>', doc: 'create: most tokens per day (UTC), in and out' },
    expires: { type: 'string', value: '<time>', doc: 'create: it ends after this long, such as 90d, 12h or 30m' },
    json: { type: 'boolean', doc: 'list: as JSON, one key a line' },
  },
  arguments: { least: 1, most: 2 },

  async run(call, io) {
    const [verb = '', subject] = call.positionals;
    const action = ACTIONS.find((known) => known === verb);
    if (!action) throw new UsageError(`unknown action ${JSON.stringify(verb)} of keys: there is ${ACTIONS.join(', ')}`);
    const takesKey = action === 'revoke' || action === 'rotate';
    if (takesKey !== (subject !== undefined)) {
      throw new UsageError(
        takesKey ? `keys ${action} needs a key: its id or its name` : `keys ${action} takes no argument`,
      );
    }
    const asked = action === 'create' ? askedFor(call, io) : null;
    return withKeys(call, io, action, async (store) => {
      if (asked) return create(store, asked, io);
      if (action === 'list') return list(await store.keys.all(), call.values.json === true, io);
      return change(store, action === 'revoke' ? 'revoke' : 'rotate', subject ?? '', io);
    });
  },
};

interface KeysInStore {
  readonly keys: KeyStore;
  /** Where the store is, for the terminal. */
  readonly place: string;
  /** Records the action for `tail` and `events_watch`. */
  tell(event: EventRecord): Promise<void>;
}

/** @throws UserError when the store cannot be used */
async function withKeys<T>(call: Call, io: Io, action: Action, use: (store: KeysInStore) => Promise<T>): Promise<T> {
  const { settings } = readSettings(call, io);
  const { openStore, storeExists } = await import('../app/store.ts');
  if (settings.dbPath === ':memory:' && settings.databaseUrl === null) {
    throw new UserError('the store is the memory of each process (MCP_PRUNER_DB_PATH): keys need one that stays');
  }
  const exists = storeExists(settings, (path) => io.fileExists(path));
  const running = settings.port === 0 ? null : await proxyHealth(proxyUrl(settings));
  if (!exists) refuseOtherStore(settings, running, null);
  if (action !== 'create' && !exists) {
    throw new UserError(`there is no store at ${settings.dbPath}, and so no key: mcp-pruner keys create makes both`);
  }
  const store: StoreHandle = await openStore(settings, { clock: io.clock });
  try {
    await store.ready();
    if (store.problem() === null) refuseOtherStore(settings, running, await store.id());
    return await use({
      keys: await store.keys(),
      place: storePlace(settings),
      tell: async (event) => {
        await store.addEvents([event]);
      },
    });
  } catch (cause) {
    if (cause instanceof StoreUnavailable) throw new UserError(store.problem()?.message ?? cause.message, { cause });
    throw cause;
  } finally {
    await store.close();
  }
}

/** Refuses to create a key in another store than the server's: it would open nothing. @throws UserError */
function refuseOtherStore(settings: Settings, running: ProxyHealth | null, ownId: string | null): void {
  const problem = storeDiffers(settings, running, ownId);
  if (problem !== null) throw new UserError([problem, SAME_STORE_ADVICE]);
}

type Asked = Pick<AccessKey, 'name' | 'projects' | 'requestsPerMinute' | 'tokensPerDay' | 'expiresMs'>;

/** @throws UsageError */
function askedFor(call: Call, io: Io): Asked {
  const name = textOption(call, 'name')?.trim() ?? '';
  const projects = [...new Set((textOption(call, 'project') ?? '').split(',').map((one) => one.trim()))].filter(
    (one) => one !== '',
  );
  if (!isName(name, MAX_NAME_CHARS))
    throw new UsageError(`--name is missing, or longer than ${MAX_NAME_CHARS} characters`);
  if (
    projects.length === 0 ||
    projects.length > MAX_PROJECTS ||
    !projects.every((one) => isName(one, MAX_PROJECT_CHARS))
  ) {
    throw new UsageError(`--project needs 1 to ${MAX_PROJECTS} names of at most ${MAX_PROJECT_CHARS} characters`);
  }
  if (projects.includes('*') && projects.length > 1) {
    throw new UsageError("--project '*' opens all projects: leave the others out");
  }
  return {
    name,
    projects,
    requestsPerMinute: limit(call, 'requests-per-minute'),
    tokensPerDay: limit(call, 'tokens-per-day'),
    expiresMs: expiry(call, io.clock.nowMs()),
  };
}

function isName(text: string, most: number): boolean {
  return text !== '' && text.length <= most && !/\p{Cc}/u.test(text) && text.isWellFormed();
}

function limit(call: Call, option: string): number | null {
  const text = textOption(call, option);
  if (text === undefined) return null;
  const number = Number(text.replaceAll('_', ''));
  if (/^[\d_]{1,16}$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw new UsageError(`--${option} needs a whole number from 1 on`);
}

function expiry(call: Call, nowMs: number): number | null {
  const text = textOption(call, 'expires');
  if (text === undefined) return null;
  const [, count = '', unit = ''] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? [];
  const ms = Number(count) * (UNITS_MS[unit] ?? Number.NaN);
  if (ms > 0 && ms <= MAX_EXPIRES_MS) return Math.trunc(nowMs + ms);
  throw new UsageError('--expires needs a time of at most ten years, such as 90d, 12h or 30m');
}

async function create({ keys: store, place, tell }: KeysInStore, asked: Asked, io: Io): Promise<number> {
  const [{ hashOfKey, newKeyId, newKeyText }, { keyEvent }] = await Promise.all([
    import('../keys/key-text.ts'),
    import('../keys/refusals.ts'),
  ]);
  const text = newKeyText();
  const id = newKeyId();
  const nowMs = io.clock.nowMs();
  const made = await store.create({
    ...{ id, hash: hashOfKey(text), ...asked },
    ...{ createdMs: Math.trunc(nowMs), revokedMs: null },
  });
  if (!made) throw new UserError('there are as many keys as a store holds: revoke some first, they go after 90 days');
  await tell(keyEvent('key_created', nowMs, { key_id: id, name: asked.name, projects: asked.projects }));
  io.out(`${text}\n`);
  io.err(`${id} (${asked.name}) opens ${asked.projects.join(', ')}. ${ONCE}\nIts hash is kept in ${place}.\n`);
  return 0;
}

const ONCE =
  'The key is shown this once: send it as x-mcp-pruner-key, or put /k/<key> before /v1 in the base URL of a client.';

async function change({ keys: store, tell }: KeysInStore, action: 'revoke' | 'rotate', subject: string, io: Io) {
  const key = find(await store.all(), subject);
  const [{ hashOfKey, newKeyText }, { keyEvent }] = await Promise.all([
    import('../keys/key-text.ts'),
    import('../keys/refusals.ts'),
  ]);
  const nowMs = io.clock.nowMs();
  const about = { key_id: key.id, name: key.name };
  if (action === 'revoke') {
    if (!(await store.revoke(key.id, nowMs))) throw gone(subject);
    await tell(keyEvent('key_revoked', nowMs, about));
    io.out(`${key.id} (${key.name}) is revoked\n`);
    return 0;
  }
  const text = newKeyText();
  if (!(await store.rotate(key.id, hashOfKey(text)))) throw gone(subject);
  await tell(keyEvent('key_rotated', nowMs, about));
  io.out(`${text}\n`);
  io.err(`${key.id} (${key.name}) has a new text; the old one ends within a second. ${ONCE}\n`);
  return 0;
}

/** The one matching key that is not revoked. @throws UserError */
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
  throw gone(subject.startsWith('mpk_') ? 'this (name it by its id, not by the key itself)' : subject);
}

function gone(subject: string): UserError {
  return new UserError(`there is no key ${subject}, or it was revoked: mcp-pruner keys list shows them`);
}

function list(all: readonly AccessKey[], asJson: boolean, io: Io): number {
  const nowMs = io.clock.nowMs();
  if (asJson) {
    for (const { hash: _, ...key } of all) io.out(`${JSON.stringify({ ...key, state: stateOf(key, nowMs) })}\n`);
    return 0;
  }
  if (all.length === 0) io.out('no keys: mcp-pruner keys create --name <name> --project <project>\n');
  for (const key of all) {
    const { id, name, projects, requestsPerMinute, tokensPerDay, createdMs, expiresMs } = key;
    const about = [
      `opens ${projects.join(', ')}`,
      ...(requestsPerMinute === null ? [] : [`${requestsPerMinute} requests/min`]),
      ...(tokensPerDay === null ? [] : [`${tokensPerDay} tokens/day`]),
      `made ${dayOf(createdMs)}`,
      ...(expiresMs === null ? [] : [`until ${dayOf(expiresMs)}`]),
    ];
    io.out(`${id}  ${stateOf(key, nowMs).padEnd(7)}  ${name}: ${about.join(', ')}\n`);
  }
  return 0;
}

function stateOf({ revokedMs, expiresMs }: Pick<AccessKey, 'revokedMs' | 'expiresMs'>, nowMs: number): string {
  if (revokedMs !== null) return 'revoked';
  return expiresMs !== null && expiresMs <= nowMs ? 'expired' : 'open';
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
