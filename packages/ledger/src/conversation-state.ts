import { type Known, type KnownMessage, type Mark, shared } from '@mcp-pruner/money/known.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';

/** The ledger's state of a conversation. */
export interface ConversationState {
  /** Newest requests that a later one may continue, newest first; several, because agents branch off. */
  readonly branches: readonly Known[];
  readonly project: string;
  /** Price of a new token in the newest request, in dollars. */
  readonly entering: number;
  /** Hashes of the last messages of the newest requests, newest last. */
  readonly newest: readonly string[];
}

/** Maximum number of requests remembered per conversation. */
const MAX_BRANCHES = 4;
/** Version of the data format. Data in other formats counts as unknown. */
const FORMAT_VERSION = 1;

interface Stored extends Omit<ConversationState, 'branches'> {
  readonly form: number;
  readonly branches: readonly (Omit<Known, 'messages' | 'marks'> & {
    readonly messages: Packed;
    readonly marks: Packed;
  })[];
}

export function encodeConversation({ branches, ...more }: ConversationState): string {
  const stored: Stored = {
    form: FORMAT_VERSION,
    ...more,
    branches: branches.map(({ messages, marks, ...known }) => ({
      ...known,
      messages: packMessages(messages),
      marks: packMarks(marks),
    })),
  };
  return JSON.stringify(stored);
}

/** Like `packRows`, without the facts that messages only have in memory. */
function packMessages(messages: readonly KnownMessage[]): Packed {
  const prefix: string[] = [];
  const cuts: string[] = [];
  for (const message of messages) {
    prefix.push(message.prefix);
    cuts.push(message.cuts);
  }
  return { length: messages.length, texts: { prefix: prefix.join(BREAK), cuts: cuts.join(BREAK) }, numbers: {} };
}

/** Like `packRows`, in one loop: there are up to 64 marks for each request. */
function packMarks(marks: readonly Mark[]): Packed {
  const messages: number[] = [];
  const tokens: number[] = [];
  for (const mark of marks) {
    messages.push(mark.messages);
    tokens.push(Math.round(mark.tokens * PRECISION) / PRECISION);
  }
  return { length: marks.length, texts: {}, numbers: marks.length === 0 ? {} : { messages, tokens } };
}

/** Inverse of `encodeConversation`; `null` for data of another version. */
export function decodeConversation(data: string): ConversationState | null {
  const { form, branches, ...more } = JSON.parse(data) as Stored;
  if (form !== FORMAT_VERSION) return null;
  return {
    ...more,
    branches: branches.map(({ messages, marks, ...known }) => ({
      ...known,
      messages: unpackRows(messages),
      marks: unpackRows(marks),
    })),
  };
}

/** The state after a request that continues `from`. */
export function nextState(
  state: ConversationState | null,
  from: Known | null,
  known: Known,
  { project, newest = [] }: RequestFacts,
  entering: number,
): ConversationState {
  const others = (state?.branches ?? []).filter((other) => other !== from).slice(0, MAX_BRANCHES - 1);
  return {
    branches: [known, ...others],
    project,
    entering,
    newest: [...(state?.newest ?? []), ...newest].slice(-MAX_BRANCHES),
  };
}

/** The remembered request that a new one continues, i.e. the one with most messages in common. */
export function branchOf(state: ConversationState | null, facts: RequestFacts): Known | null {
  const [only, ...others] = state?.branches ?? [];
  if (only && others.length === 0) return only;
  let best: Known | null = null;
  let most = -1;
  for (const known of state?.branches ?? []) {
    const common = shared(known, facts.messages, false);
    if (common > most) [best, most] = [known, common];
  }
  return best;
}

/** A conversation idle for longer than this is not considered compacted. */
const REMEMBERED_MS = 90 * 86_400_000;

/**
 * Whether a request begins the compacted form of an earlier conversation: its first message contains that
 * conversation's summary, or its newest message was among the last messages of the earlier one; in both cases, the
 * provider also read less from the cache than the earlier conversation had left there.
 */
export function wasCompacted(before: ConversationState, facts: RequestFacts): boolean {
  const [last] = before.branches;
  if (!last || before.newest === undefined || facts.atMs - last.atMs > REMEMBERED_MS) return false;
  const read = facts.usage?.read ?? null;
  if (read === null || read >= last.cached) return false;
  const newest = facts.newest?.at(-1);
  return facts.summarised === true || (newest !== undefined && before.newest.includes(newest));
}

/**
 * Rows by column: a list of numbers, or texts joined by line breaks. Missing values are `null`; in texts, a lone NUL.
 */
export interface Packed {
  readonly length: number;
  readonly texts: Readonly<Record<string, string>>;
  readonly numbers: Readonly<Record<string, readonly (number | null)[]>>;
}

const ABSENT = '\0';
const BREAK = '\n';
/** Numbers are rounded to three decimals. */
const PRECISION = 1_000;

/**
 * Packs rows of numbers and texts column by column: the messages of a long conversation take a fifth of the space, and
 * are read and written several times as fast. Numbers are rounded to three decimals. Texts must not contain line
 * breaks.
 */
export function packRows(rows: readonly object[]): Packed {
  const texts: Record<string, string> = {};
  const numbers: Record<string, (number | null)[]> = {};
  const names = new Set<string>();
  for (const row of rows) for (const name in row) names.add(name);
  for (const name of names) {
    const values = rows.map((row): unknown => (row as Readonly<Record<string, unknown>>)[name]);
    if (values.some((value) => typeof value === 'string')) {
      texts[name] = values.map((value) => (typeof value === 'string' ? value : ABSENT)).join(BREAK);
    } else {
      numbers[name] = values.map(rounded);
    }
  }
  return { length: rows.length, texts, numbers };
}

function rounded(value: unknown): number | null {
  return typeof value === 'number' ? Math.round(value * PRECISION) / PRECISION : null;
}

/** Inverse of `packRows`. The type is not checked, because only this program writes such rows. */
export function unpackRows<Row extends object>({ length, texts, numbers }: Packed): Row[] {
  const rows = Array.from({ length }, (): Record<string, string | number> => ({}));
  for (const [name, joined] of Object.entries(texts)) {
    const values = joined.split(BREAK);
    for (let i = 0; i < length; i++) {
      const value = values[i] ?? ABSENT;
      const row = rows[i];
      if (row && value !== ABSENT) row[name] = value;
    }
  }
  for (const [name, values] of Object.entries(numbers)) {
    for (let i = 0; i < length; i++) {
      const value = values[i];
      const row = rows[i];
      if (row && value !== null && value !== undefined) row[name] = value;
    }
  }
  return rows as Row[];
}
