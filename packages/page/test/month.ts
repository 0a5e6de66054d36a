import type { LedgerTurn, MissCause } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerStore, LedgerSum } from 'mcp-pruner/core/ports/ledger-store.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const DAYS = 26;
/** What is paid for a million tokens of these models, about. */
const MODELS = [
  { model: 'claude-sonnet-4-5', input: 3, read: 0.3, output: 15 },
  { model: 'gpt-5.1-codex', input: 1.25, read: 0.125, output: 10 },
] as const;
const TOOLS = [
  ['bash', 'log', 0.52, 0.01],
  ['read_file', 'code', 0.22, 0.05],
  ['grep', 'search', 0.18, 0.02],
  ['web_fetch', 'docs', 0.28, 0.03],
] as const;
const CAUSES: readonly MissCause[] = ['first_request', 'expired', 'message_changed', 'tools_changed'];

/** A share from 0 to 1 that follows from its number alone. */
const chance = (n: number): number => ((Math.imul(n + 7, 2_654_435_761) >>> 9) % 10_000) / 10_000;

/** What a month of work on two projects comes to, a third of it held out; made up, and always the same. */
export async function addMonth(store: LedgerStore, nowMs: number): Promise<void> {
  const turns: LedgerTurn[] = [];
  const sums: LedgerSum[] = [];
  for (let back = DAYS; back >= 0; back--) {
    const dayMs = nowMs - back * DAY_MS;
    const weekday = new Date(dayMs).getUTCDay();
    // nobody works at weekends; the first day always counts, so that the month has the same length on any day of the week
    if ((weekday === 0 || weekday === 6) && back < DAYS) continue;
    for (let talk = 0; talk < 3 + Math.floor(chance(back) * 4); talk++)
      aConversation(turns, sums, dayMs, back * 10 + talk);
  }
  await store.add(turns, sums);
}

function aConversation(turns: LedgerTurn[], sums: LedgerSum[], dayMs: number, seed: number): void {
  const { model, ...price } = MODELS[seed % 3 === 0 ? 1 : 0] ?? MODELS[0];
  const project = seed % 4 === 0 ? 'billing-api' : 'checkout';
  const arm = seed % 3 === 1 ? 'control' : 'pruned';
  const day = new Date(dayMs).toISOString().slice(0, 10);
  const add = (slice: LedgerSum['slice'], key: string, field: string, value: number): void => {
    sums.push({ day, project, slice, key, field, value });
  };
  let cached = 0;
  let removed = 0;
  for (let i = 0; i < 8 + Math.floor(chance(seed) * 20); i++) {
    const came = 2_500 + Math.floor(chance(seed * 31 + i) * 9_000);
    const cutNew = arm === 'control' ? 0 : Math.floor(came * 0.3);
    const fresh = came - cutNew;
    const cause = i === 0 ? 'first_request' : chance(seed * 17 + i) < 0.05 ? (CAUSES[1 + (i % 3)] ?? null) : null;
    const missTokens = cause === null || i === 0 ? 0 : cached;
    const read = cached - missTokens;
    const output = 150 + Math.floor(chance(seed + i) * 700);
    const dollars = ((fresh + missTokens) * price.input + read * price.read + output * price.output) / 1e6;
    const saved = (cutNew * price.input + removed * price.read) / 1e6;
    const regret = arm === 'control' ? 0 : chance(seed * 3 + i) < 0.04 ? 900 : 0;
    removed += cutNew;
    cached += fresh;
    const regretDollars = (regret * price.input) / 1e6;
    const missDollars = (missTokens * (price.input - price.read)) / 1e6;
    turns.push({
      ...{ requestId: `req-${seed}-${i}`, atMs: dayMs - 6 * HOUR_MS + i * 60_000, project, model, arm, wire: 'chat' },
      ...{
        conversationId: `c-${seed}`,
        estimated: false,
        fresh: fresh + missTokens,
        write5m: 0,
        write1h: 0,
        read,
        output,
      },
      ...{
        dollars,
        dollarsWithout: dollars + saved,
        removed,
        removedNew: cutNew,
        miss: cause,
        missTokens,
        missDollars,
      },
      ...{ missAt: cause === 'message_changed' ? i : -1, regretTokens: regret, regretDollars },
    });
    const figures = {
      requests: 1,
      dollars,
      without: dollars + saved,
      regretDollars,
      regretTokens: regret,
      output,
      read,
    };
    const all = { ...figures, fresh: fresh + missTokens, removed, removedNew: cutNew, missTokens, missDollars };
    for (const [field, value] of Object.entries(all)) {
      add('all', '', field, value);
      add('model', model, field, value);
    }
    add('all', '', 'looked', came);
    add('all', '', 'lookedRemoved', cutNew);
    if (cause !== null) {
      for (const [field, value] of Object.entries({ requests: 1, tokens: missTokens, dollars: missDollars }))
        add('miss', cause, field, value);
    }
    const [tool, kind, part, wanted] = TOOLS[(seed + i) % TOOLS.length] ?? TOOLS[0];
    const gone = arm === 'control' ? 0 : Math.floor(came * part);
    if (gone === 0) add('whole', arm === 'control' ? 'held_out' : 'file', 'left', 1);
    if (i % 2 === 0) add('whole', 'small', 'notExamined', 1);
    const isWanted = regret > 0 && chance(i) < wanted * 20 ? 1 : 0;
    const texts = { texts: 1, cut: gone > 0 ? 1 : 0, tokens: came, removed: gone, saved, recovered: isWanted };
    for (const [field, value] of Object.entries({
      ...texts,
      regretTokens: isWanted * 900,
      regretDollars: isWanted * regretDollars,
    })) {
      add('tool', `${tool}\t${kind}`, field, value);
    }
  }
}

/** Writes that month into the store of a server, and one request of a conversation that its past was changed in. */
export async function seedLedger(path: string, conversationId: string): Promise<void> {
  const nowMs = Date.now();
  const clock = { nowMs: () => nowMs };
  const store = openSqliteStore({ path, clock, ttlMs: DAY_MS, maxBytes: 1e9, maxEvents: 1e6 });
  await addMonth(store.ledger, nowMs);
  const turn: LedgerTurn = {
    ...{ requestId: 'seeded', atMs: nowMs, project: 'default', conversationId, wire: 'chat', model: 'a-priced-model' },
    ...{ arm: 'pruned', estimated: false, fresh: 900, write5m: 0, write1h: 0, read: 100, output: 10 },
    ...{ dollars: 0.5, dollarsWithout: 0.75, removed: 1_000, removedNew: 500 },
    ...{ miss: 'message_changed', missTokens: 800, missDollars: 0.1, missAt: 4, regretTokens: 0, regretDollars: 0 },
  };
  const cheap = { ...turn, requestId: 'cheap', atMs: nowMs - 1, dollars: 0.031, dollarsWithout: 0.0312, miss: null };
  await store.ledger.add([cheap, turn], []);
  await store.close();
}
