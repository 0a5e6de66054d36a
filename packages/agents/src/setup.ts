import { plural } from 'mcp-pruner/base/counts.ts';
import {
  type Call,
  type Command,
  configOption,
  fileReader,
  flag,
  type Io,
  textOption,
  UsageError,
  valued,
} from 'mcp-pruner/cli/command.ts';
import { accessToken, rpcAddress } from 'mcp-pruner/cli/local-access.ts';
import { readSettings } from 'mcp-pruner/cli/read-settings.ts';
import { namedProxy, proxyHealth, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import { wrapped } from 'mcp-pruner/cli/table.ts';
import { money } from 'mcp-pruner/cli/words.ts';
import type { Loaded } from 'mcp-pruner/config/load.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { isAnthropicsOwn, isLocalUrl } from 'mcp-pruner/config/warnings.ts';
import type { ThresholdCost } from 'mcp-pruner/core/ports/seams-report.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { providerFacts } from 'mcp-pruner/wires/providers/facts.ts';
import { clients, findClient } from './clients/all.ts';
import type { Client, ClientCloud, ClientPlace, Edit, McpAccess, Wiring } from './clients/client.ts';
import { compactAtClients, compactAtEdit, hasCompactAt, reachedLength } from './clients/compact-at.ts';
import { compactionHookEdit, compactionHookUndo, hasCompactionHook } from './compaction-hook.ts';
import { type EditOutcome, undoEdits, writeEdits } from './edit-file.ts';
import { snippet } from './edit-text.ts';
import { findEntry } from './mcp-servers.ts';
import { stdioToolScope } from './run/mcp.ts';
import { serverEnv } from './server-env.ts';
import { statusLineEdit, statusLineUndo } from './status-line.ts';
import { KEY_VARIABLE, teamKey, withKey } from './team-key.ts';

const names = clients.map(({ name }) => name);

const FEATURE_TITLES: Readonly<Record<NonNullable<Edit['feature']>, string>> = {
  hook: 'hook',
  statusline: 'status line',
  compaction: 'length of a compaction',
};
const HIDDEN = '<token>';
const HIDDEN_KEY = '<key>';

export const setup: Command = {
  usage: 'setup <agent> [--write|--undo]',
  about: [
    "Prints the configuration that an agent needs: the proxy's address, and the MCP server that recovers cuts.",
    'With --write it goes into the files of the agent; the original of each file is kept next to it.',
    '--undo takes back all that setup wrote for the agent, its hook and status line included.',
    `Agents: ${names.join(', ')}.`,
    'Any other program: export OPENAI_BASE_URL=http://127.0.0.1:8006/v1',
    'If the proxy requires a key, put yours into MCP_PRUNER_KEY: it is written to the files, which only you can read then.',
  ].join('\n'),
  options: {
    ...configOption,
    write: flag('change the files'),
    undo: flag('take back every change; with --hook or --statusline only that one'),
    model: valued('<name>', 'the model, for agents that need one (default: OPENAI_MODEL)'),
    proxy: valued('<url>', 'a proxy that others run, such as https://pruner.example'),
    'first-party': flag("claude: treat the proxy as Anthropic's own API, by an internal switch of Claude Code"),
    statusline: flag('claude: only the status line of mcp-pruner statusline'),
    append: flag('statusline: put it behind an existing status line'),
    hook: flag('claude, codex: only a hook that reports to the model, after a compaction, what recall can still find'),
    'compact-at': valued(
      '<tokens>',
      `${compactAtClients.join(', ')}: also make the agent compact at this length, such as 120k (see report --sessions)`,
    ),
    mcp: valued(
      '<way>',
      'http: the server at the running proxy (default); stdio: a process that the agent starts; none',
    ),
  },
  arguments: { min: 1, max: 1 },
  words: names,

  async run(call, io) {
    const [name = ''] = call.positionals;
    if (name === '') throw new UsageError(`setup needs an agent: ${names.join(', ')}`);
    const client = findClient(name);
    if (REMOTE_AGENTS.has(name.toLowerCase()))
      throw new UsageError(
        `${name} sends its requests from its own servers, which bypass a local proxy: it cannot be set up`,
      );
    if (client === undefined) throw new UsageError(`${JSON.stringify(name)} is not one of ${names.join(', ')}`);
    const purpose = purposeOf(call);
    const compactAt = compactAtOf(call, client);
    if (call.values.statusline === true || call.values.hook === true) return setupApart(call, io, client, purpose);
    const loaded = readSettings(call, io);
    const key = teamKey(io);
    const shownKey = key !== null && purpose !== 'write' ? HIDDEN_KEY : key;
    const wiring = wiringOf(call, io, loaded, client, purpose, shownKey);
    const place = placeOf(io);
    const cloud = client.cloud?.(place) ?? null;
    const edits = client
      .edits(wiring, place)
      .filter((edit) => !isEmpty(edit))
      .map((edit) => (key === null ? edit : { ...edit, secret: true }));

    if (compactAt !== null && purpose !== 'undo') edits.push(compactAtEdit(client.name, place, compactAt));
    if (purpose === 'undo') undoAll([...edits, ...featureUndos(client, place)], io);
    else if (purpose === 'write') report(attempt(writeEdits, edits), io);
    else for (const edit of edits) io.out(`# in ${edit.file}\n${snippet(edit)}\n\n`);
    if (purpose === 'undo') return 0;
    if (compactAt !== null) explainLength(client, compactAt, io);
    if (purpose === 'write' && compactAt === null) await offerLength(client, place, loaded.settings, io);
    // prints the form for shells, which may be pasted anywhere
    explain(client, wiringOf(call, io, loaded, client, purpose, key && `$${KEY_VARIABLE}`), cloud, io);
    return purpose === 'write' && namedProxy(call) === null ? printStartupAdvice(loaded.settings, io) : 0;
  },
};

function setupApart(call: Call, io: Io, client: Client, purpose: Purpose): number {
  const isHook = call.values.hook === true;
  if (isHook && call.values.statusline === true) throw new UsageError('--hook and --statusline exclude each other');
  if (isHook && !hasCompactionHook(client.name))
    throw new UsageError(`${client.title} has no hook after a compaction that adds to the context`);
  if (!isHook && client.name !== 'claude')
    throw new UsageError(`${client.title} runs no command for its status line: see mcp-pruner statusline --help`);
  const place = placeOf(io);
  if (purpose === 'undo') {
    const edit = isHook ? compactionHookUndo(client.name, place) : statusLineUndo(place);
    report(attempt(undoEdits, [edit]), io);
    return 0;
  }
  const { settings } = readSettings(call, io);
  const { edit, note } = isHook
    ? compactionHookEdit(client.name, place, settings, io)
    : statusLineEdit({ settings, io, place, appends: call.values.append === true });
  if (edit === null) io.out(wrapped(note, '', io));
  else if (purpose === 'write') report(attempt(writeEdits, [edit]), io);
  else io.out(`# in ${edit.file}\n${snippet(edit)}\n\n`);
  if (isHook && client.name === 'codex')
    io.out(wrapped('Codex asks once whether it may run a new hook: see /hooks', '# ', io));
  return 0;
}

function featureUndos({ name }: Client, place: ClientPlace): Edit[] {
  return [
    ...(hasCompactionHook(name) ? [compactionHookUndo(name, place)] : []),
    ...(name === 'claude' ? [statusLineUndo(place)] : []),
    ...(hasCompactAt(name) ? [compactAtEdit(name, place, 0)] : []),
  ];
}

/** Undoes all that was set up for a client, and prints what was there to undo. */
function undoAll(edits: readonly Edit[], io: Io): void {
  const outcomes = attempt(undoEdits, edits);
  const undone = outcomes.filter(({ feature, outcome }) => feature === undefined || outcome !== 'nothing to undo');
  report(undone, io);
}

function placeOf(io: Io): ClientPlace {
  return { env: io.env, homeDir: io.homeDir, readFile: fileReader(io) };
}

const LENGTH = /^(\d{1,9})(k?)$/i;
/** Shorter contexts leave no room for work. */
const LEAST_LENGTH = 20_000;

/** The wanted length of a compaction in tokens, or `null`. @throws UsageError */
function compactAtOf(call: Call, client: Client): number | null {
  const text = textOption(call, 'compact-at');
  if (text === undefined) return null;
  if (!hasCompactAt(client.name)) {
    throw new UsageError(
      `${client.title} has no documented setting for the length at which it compacts: nothing was written. --compact-at is for ${compactAtClients.join(', ')}`,
    );
  }
  const [, digits, unit] = LENGTH.exec(text.trim()) ?? [];
  const tokens = Number(digits) * (unit ? 1_000 : 1);
  if (digits === undefined || tokens < LEAST_LENGTH)
    throw new UsageError(`--compact-at ${JSON.stringify(text)} is not a number of tokens from 20k on, such as 120k`);
  return tokens;
}

const DAY_MS = 86_400_000;
const OFFERED_DAYS = 30;
/** Part of the bill that must be left at most for an offer. */
const WORTH_SHARE = 0.95;

/** Offers, on a terminal, the length of a compaction that would have been cheapest in the user's own sessions. */
async function offerLength(client: Client, place: ClientPlace, settings: Settings, io: Io): Promise<void> {
  const { pastThresholds } = io.edition;
  if (!hasCompactAt(client.name) || pastThresholds === undefined || io.inIsTerminal !== true || !io.outIsTerminal)
    return;
  const found = await pastThresholds(
    io,
    settings,
    client.title.split(',')[0] ?? '',
    io.clock.nowMs() - OFFERED_DAYS * DAY_MS,
  );
  const today = found.find(({ tokens }) => tokens === 'client');
  const lengths = found.filter(({ tokens }) => typeof tokens === 'number');
  const best = lengths.reduce<ThresholdCost | undefined>(
    (a, b) => (a === undefined || b.usd < a.usd ? b : a),
    undefined,
  );
  if (today === undefined || best === undefined || best.share > WORTH_SHARE) return;
  const { tokens, usd, compactions } = best;
  const question = [
    `Your sessions of the last ${OFFERED_DAYS} days cost ${money(today.usd)}. Compacting at ${Number(tokens) / 1_000}k tokens would have`,
    `cost ${money(usd)}, for ${plural(compactions, 'compaction')} (simulated). Have ${client.title} compact there?`,
  ].join(' ');
  if (await isAgreed(question, io))
    report(attempt(writeEdits, [compactAtEdit(client.name, place, Number(tokens))]), io);
}

function explainLength({ name, title }: Client, tokens: number, io: Io): void {
  const reached = reachedLength(name, tokens);
  if (reached === tokens) return;
  io.out(
    wrapped(`${title} takes no shorter window: it compacts at ${reached.toLocaleString('en-US')} tokens`, '# ', io),
  );
}

/** Agents whose model requests do not come from the user's machine. */
const REMOTE_AGENTS: ReadonlySet<string> = new Set(['cursor', 'windsurf', 'amp', 'augment']);

type Purpose = 'print' | 'write' | 'undo';

function purposeOf({ values }: Call): Purpose {
  if (values.undo === true && values.write === true) throw new UsageError('--write and --undo exclude each other');
  return values.undo === true ? 'undo' : values.write === true ? 'write' : 'print';
}

/** @param cloud - the cloud that the client used before its files were changed */
function explain(client: Client, wiring: Wiring, cloud: ClientCloud | null, io: Io): void {
  const exports = Object.entries(client.exports?.(wiring) ?? {});
  for (const [variable, value] of exports) io.out(`export ${variable}=${value}\n`);
  for (const note of client.notes) io.out(wrapped(note, '# ', io));
  if (cloud !== null) io.out(wrapped(cloudNote(cloud, wiring.origin), '# ', io));
}

function cloudNote({ title, key, upstream, signing }: ClientCloud, origin: string): string {
  if (signing === 'unknown') {
    return `Requests to ${title} are signed and bypass the proxy: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for the client and for serve.`;
  }
  const address =
    upstream === null || upstream.startsWith(origin)
      ? ''
      : ` ${providerFacts.find((one) => one.key === key)?.variable}=${upstream}`;
  const keys = signing === 'own' ? ' and the AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the client' : '';
  return `Requests to ${title} go through the proxy: start serve with${address || ' its defaults'}${keys}.`;
}

function wiringOf(call: Call, io: Io, loaded: Loaded, client: Client, purpose: Purpose, key: string | null): Wiring {
  const model = textOption(call, 'model') ?? (io.env.OPENAI_MODEL || null);
  if (client.needsModel && model === null && purpose !== 'undo') {
    throw new UsageError(`${client.name} needs a model: add --model <name>, or set OPENAI_MODEL`);
  }
  const origin = withKey(namedProxy(call) ?? proxyUrl(loaded.settings), key);
  const mcp = mcpAccess(call, io, loaded, client, purpose, { origin, hasKey: key !== null });
  const cloudBypassesProxy = client.cloud?.(placeOf(io))?.signing === 'unknown';
  const hasLocalModel = isLocalUrl(loaded.settings.anthropicUrl);
  const isAsked = call.values['first-party'] === true;
  if (isAsked) checkFirstParty(call, io, loaded, client);
  const asFirstParty = isAsked || purpose === 'undo';
  return { baseUrl: `${origin}/v1`, origin, mcp, model, cloudBypassesProxy, hasLocalModel, asFirstParty };
}

/** @throws UsageError unless the requests of Claude Code go to Anthropic's own API */
function checkFirstParty(call: Call, io: Io, { settings }: Loaded, client: Client): void {
  if (client.name !== 'claude') throw new UsageError('--first-party is a switch of Claude Code');
  const cloud = client.cloud?.(placeOf(io)) ?? null;
  const proxy = textOption(call, 'proxy');
  const upstream = cloud?.title ?? proxy ?? settings.anthropicUrl;
  if (cloud !== null || proxy !== undefined || !isAnthropicsOwn(settings.anthropicUrl)) {
    throw new UsageError(`--first-party needs Anthropic's own API behind the proxy of this machine, not ${upstream}`);
  }
}

function mcpAccess(
  call: Call,
  io: Io,
  loaded: Loaded,
  client: Client,
  purpose: Purpose,
  { origin, hasKey }: { readonly origin: string; readonly hasKey: boolean },
): McpAccess | null {
  const { settings } = loaded;
  const way = textOption(call, 'mcp') ?? 'http';
  if (!['http', 'stdio', 'none'].includes(way)) throw new UsageError(`--mcp is http, stdio or none, not ${way}`);
  if (way === 'stdio' && textOption(call, 'proxy') !== undefined) {
    throw new UsageError(
      '--mcp stdio recovers texts from the store of this machine, not the cuts of the proxy at --proxy',
    );
  }
  // whichever way it was set up, its entry is in the same place
  if (purpose === 'undo') return { transport: 'http', url: rpcAddress(origin) };
  if (way === 'none' || !client.usesMcp) return null;
  // a key also opens the MCP server
  const known = hasKey ? null : accessToken(settings, io, purpose === 'write');
  const token = known === null || purpose === 'write' ? known : HIDDEN;
  if (way === 'http') return { transport: 'http', url: rpcAddress(origin), token: token ?? undefined };
  const entry = findEntry(io.env, io.cwd);
  if (entry === undefined) throw new UserError('the entry point of the MCP server was not found');
  return {
    transport: 'stdio',
    server: {
      command: process.execPath,
      args: [entry, 'stdio', '--tools', stdioToolScope(client)],
      env: {
        PRUNER_URL: `${origin}/prune`,
        ...(token !== null && { PRUNER_TOKEN: token }),
        ...serverEnv(loaded, io),
      },
    },
  };
}

function isEmpty(edit: Edit): boolean {
  return edit.format === 'json' ? edit.entries.length === 0 : snippet(edit) === '';
}

function attempt(work: (edits: readonly Edit[]) => EditOutcome[], edits: readonly Edit[]): EditOutcome[] {
  try {
    return work(edits);
  } catch (cause) {
    if (cause instanceof UserError) throw new UserError(`${cause.message}; nothing was changed`, { cause });
    if (!(cause instanceof Error) || !('code' in cause)) throw cause;
    const file = 'path' in cause ? String(cause.path).replace(/\.new$/, '') : 'a file';
    throw new UserError(`${file} cannot be changed: ${cause.code}; nothing was changed`, { cause });
  }
}

function report(outcomes: readonly EditOutcome[], io: Io): void {
  for (const { file, outcome, feature, backup } of outcomes) {
    const part = feature === undefined ? '' : ` (${FEATURE_TITLES[feature]})`;
    io.out(`${file}${part}: ${outcome}${backup === undefined ? '' : ` (as it was: ${backup})`}\n`);
  }
}

/** Explains how to start the proxy, and offers to start it on a terminal. @returns the exit code */
async function printStartupAdvice(settings: Settings, io: Io): Promise<number> {
  const url = proxyUrl(settings);
  if ((await proxyHealth(url)) !== null) {
    io.out(`the proxy runs at ${url}\n`);
    return 0;
  }
  const ways = 'in the background: mcp-pruner service install; in a terminal: mcp-pruner serve';
  io.out(wrapped(`The agent now needs the proxy, which does not run at ${url}. Start it ${ways}`, '', io));
  if (!(await isAgreed('Start it in the background now?', io))) return 0;
  const { service } = await import('./service/service.ts');
  return service.run({ values: {}, positionals: ['install'] }, io);
}

/** Asks on a terminal; without a terminal, the answer is no. */
async function isAgreed(question: string, io: Io): Promise<boolean> {
  const streams = io.inIsTerminal === true && io.outIsTerminal ? io.streams?.() : undefined;
  if (streams === undefined) return false;
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface(streams);
  const left = new AbortController();
  terminal.once('close', () => left.abort());
  try {
    return /^\s*y(?:es)?\s*$/i.test(await terminal.question(`${question} [y/N] `, { signal: left.signal }));
  } catch {
    return false; // the input ended
  } finally {
    terminal.close();
  }
}
