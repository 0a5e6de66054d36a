import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import { type Call, type Io, painter, textOption, UsageError } from 'mcp-pruner/cli/command.ts';
import { readTitles, shortName } from 'mcp-pruner/cli/conversations.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import type { Store, StoredEvent } from 'mcp-pruner/core/ports.ts';
import { describeEvent, Totals } from './live-lines.ts';

const POLL_MS = 250;
const PAGE = 1_000;
const MAX_TITLES = 1_000;
/** Length of a name: a title, or the end of an id. */
const NAME_CHARS = 24;
const ID_CHARS = 8;
const LAST = 20;
const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

interface Filter {
  readonly runId: string | null;
  readonly tool: string | null;
  readonly kinds: ReadonlySet<string> | null;
  readonly sinceMs: number | null;
  readonly debug: boolean;
}

/**
 * `report --live`: follows the proxy's events in the store until a signal arrives. Starts with the last events, or with
 * events after `--since`.
 */
export function liveView(call: Call, io: Io): Promise<number> {
  const filter = filterOf(call, io);
  const json = call.values.json === true;
  return withStore(call, io, async (store) => {
    const totals = new Totals();
    const titles = new BoundedMap<string, string>(MAX_TITLES);
    const nameOf = async (id: string): Promise<string> => {
      const title = titles.get(id) ?? (await readTitles(store, [id])).get(id) ?? '';
      if (title !== '') titles.set(id, title); // a conversation is recorded shortly after its first event
      // ids begin with what their conversations share, and end with what distinguishes them
      return title === '' ? id.slice(-ID_CHARS) : shortName({ id, title }, NAME_CHARS);
    };
    const print = async (event: StoredEvent): Promise<void> => {
      totals.add(event);
      const line = json
        ? JSON.stringify(event)
        : await describeEvent(event, await nameOf(event.runId), totals, store, painter(io), io.columns);
      io.out(`${line}\n`);
    };
    const past = await wantedPast(store, filter);
    for (const line of unseenKinds(filter, past.kinds)) io.err(`mcp-pruner: ${line}\n`);
    for (const event of past.events) await print(event);
    if (call.values.once !== true) await follow(store, past.nextSeq, filter, io, print);
    return 0;
  });
}

function filterOf(call: Call, io: Io): Filter {
  const kinds = textOption(call, 'kind');
  return {
    runId: textOption(call, 'run') ?? null,
    tool: textOption(call, 'tool') ?? null,
    kinds: kinds === undefined ? null : new Set(kinds.split(',').map((kind) => kind.trim())),
    sinceMs: sinceOf(textOption(call, 'since'), io.clock.nowMs()),
    debug: kinds !== undefined,
  };
}

function sinceOf(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  const [, amount, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (amount === undefined)
    throw new UsageError(`--since ${JSON.stringify(text)} is not a time such as 90s, 10m, 2h or 1d`);
  return nowMs - Number(amount) * (UNITS_MS[unit] ?? 0);
}

function wants({ runId, tool, kinds, sinceMs, debug }: Filter, event: StoredEvent): boolean {
  if (runId !== null && event.runId !== runId) return false;
  if (tool !== null && event.payload.tool !== tool) return false;
  if (kinds !== null && !kinds.has(event.kind)) return false;
  if (sinceMs !== null && event.tsMs < sinceMs) return false;
  return debug || event.level !== 'debug';
}

/** The initial events, and the position to continue from. */
async function wantedPast(store: Store, filter: Filter) {
  let events: StoredEvent[] = [];
  const kinds = new Set<string>();
  let nextSeq = 0;
  for (;;) {
    const page = await store.events({ fromSeq: nextSeq, limit: PAGE });
    for (const { kind } of page) kinds.add(kind);
    nextSeq = (page.at(-1)?.seq ?? nextSeq - 1) + 1;
    events.push(...page.filter((event) => wants(filter, event)));
    if (filter.sinceMs === null) events = events.slice(-LAST);
    if (page.length < PAGE) return { events, nextSeq, kinds };
  }
}

/** Reports requested kinds without any stored events: the name may be misspelled, or events may still come. */
function unseenKinds({ kinds }: Filter, seen: ReadonlySet<string>): string[] {
  const known = [...seen].sort().join(', ');
  return [...(kinds ?? [])]
    .filter((kind) => !seen.has(kind))
    .map(
      (kind) =>
        `no event of kind ${JSON.stringify(kind)} so far; the store has ${known === '' ? 'none at all' : known}`,
    );
}

async function follow(
  store: Store,
  fromSeq: number,
  filter: Filter,
  { events }: Io,
  print: (event: StoredEvent) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) events.on(signal, end);
  let nextSeq = fromSeq;
  while (!stop.signal.aborted) {
    const page = await store.events({ fromSeq: nextSeq, limit: PAGE });
    nextSeq = (page.at(-1)?.seq ?? nextSeq - 1) + 1;
    for (const event of page) if (wants(filter, event)) await print(event);
    if (page.length < PAGE) await pause(POLL_MS, stop.signal);
  }
  for (const signal of signals) events.off(signal, end);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
