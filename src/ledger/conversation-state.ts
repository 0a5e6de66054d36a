import type { RequestFacts } from '../core/ports/request-facts.ts';
import { type Known, shared } from './known.ts';
import { type Packed, packRows, unpackRows } from './packed.ts';
import type { WorkState } from './work-counts.ts';

/** The ledger's state of a conversation. */
export interface ConversationState {
  /** The newest requests that a later one may continue, newest first. There are several because agents branch off. */
  readonly branches: readonly Known[];
  readonly project: string;
  /** The price of a new token in its newest request, in dollars. */
  readonly entering: number;
  /** Hashes of the last messages of its newest requests, newest last. */
  readonly newest: readonly string[];
  /** Absent if no signs of work were counted yet. */
  readonly work?: WorkState | undefined;
}

/** Most requests of one conversation that are remembered. */
const MAX_BRANCHES = 4;
/** Format of the data. Data in another format counts as unknown. */
const FORM = 1;

interface Stored extends Omit<ConversationState, 'branches'> {
  readonly form: number;
  readonly branches: readonly (Omit<Known, 'messages' | 'marks'> & {
    readonly messages: Packed;
    readonly marks: Packed;
  })[];
}

export function encodeConversation({ branches, ...more }: ConversationState): string {
  const stored: Stored = {
    form: FORM,
    ...more,
    branches: branches.map(({ messages, marks, ...known }) => ({
      ...known,
      messages: packRows(messages),
      marks: packRows(marks),
    })),
  };
  return JSON.stringify(stored);
}

/** Inverse of `encodeConversation`; `null` for data of another version. */
export function decodeConversation(data: string): ConversationState | null {
  const { form, branches, ...more } = JSON.parse(data) as Stored;
  if (form !== FORM) return null;
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
  work: WorkState | undefined,
): ConversationState {
  const others = (state?.branches ?? []).filter((other) => other !== from).slice(0, MAX_BRANCHES - 1);
  return {
    branches: [known, ...others],
    project,
    entering,
    newest: [...(state?.newest ?? []), ...newest].slice(-MAX_BRANCHES),
    work,
  };
}

/** The remembered request that a new one continues: the one with which it shares most messages. */
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

/** A conversation without a request for this long is not considered as compacted. */
const REMEMBERED_MS = 90 * 86_400_000;

/**
 * Whether a client compacted a conversation into the new one that a request begins: its first message contains the
 * summary, or its newest message was among the last ones of the other. Only if the provider read less from the cache
 * than was there before.
 */
export function wasCompacted(before: ConversationState, facts: RequestFacts): boolean {
  const [last] = before.branches;
  if (!last || before.newest === undefined || facts.atMs - last.atMs > REMEMBERED_MS) return false;
  const read = facts.usage?.read ?? null;
  if (read === null || read >= last.cached) return false;
  const newest = facts.newest?.at(-1);
  return facts.summarised === true || (newest !== undefined && before.newest.includes(newest));
}
