import type { Miss } from '@mcp-pruner/money/known.ts';
import { dayOf } from '@mcp-pruner/money/prices.ts';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerSum, Others, SumGroup } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { RegretFacts, RequestFacts, TextFacts, UnexaminedFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { NewTokens } from './model-scale.ts';

/** A request's contribution to the daily figures, in total and by model. */
export function turnSums(turn: LedgerTurn, texts: readonly TextFacts[], counted: Counted): SumGroup[] {
  const fields = totalFields(turn, texts, counted);
  const day = dayOf(turn.atMs);
  const { project, miss, missTokens: tokens } = turn;
  const all: SumGroup = { day, project, slice: 'all', key: '', fields };
  const groups: SumGroup[] = [all, { day, project, slice: 'model', key: turn.model, fields }];
  if (turn.keyId) groups.push({ day, project, slice: 'key', key: turn.keyId, fields: spendOf(fields) });
  const dollars = turn.missDollars ?? 0;
  if (miss !== null) groups.push({ day, project, slice: 'miss', key: miss, fields: { requests: 1, tokens, dollars } });
  return groups;
}

function totalFields(turn: LedgerTurn, texts: readonly TextFacts[], counted: Counted) {
  return {
    requests: 1,
    unpriced: turn.dollars === null ? 1 : 0,
    estimated: turn.estimated ? 1 : 0,
    fresh: turn.fresh,
    write5m: turn.write5m,
    write1h: turn.write1h,
    read: turn.read,
    output: turn.output,
    dollars: turn.dollars ?? 0,
    without: turn.dollarsWithout ?? 0,
    removed: turn.removed,
    removedNew: turn.removedNew,
    regretTokens: turn.regretTokens,
    regretDollars: turn.regretDollars ?? 0,
    missTokens: turn.missTokens,
    missDollars: turn.missDollars ?? 0,
    looked: texts.length === 0 ? 0 : texts.reduce((sum, { tokensBefore }) => sum + tokensBefore, 0),
    lookedRemoved:
      texts.length === 0
        ? 0
        : texts.reduce((sum, { tokensBefore, tokensAfter }) => sum + tokensBefore - tokensAfter, 0),
    reported: counted.reported,
    guessed: counted.guessed,
    wouldRemove: counted.would?.removed ?? 0,
    wouldSave: counted.would?.dollars ?? 0,
    savedDeviation: counted.savedDeviation,
  };
}

/** Figures stored per key: usage only, because there may be thousands of keys a day. */
function spendOf(all: ReturnType<typeof totalFields>) {
  const { requests, unpriced, fresh, write5m, write1h, read, output, dollars, without, removed } = all;
  return { requests, unpriced, fresh, write5m, write1h, read, output, dollars, without, removed };
}

/** Evidence from a request about the accuracy of token estimates. */
export interface Counted extends NewTokens {
  /** Standard deviation of the saving in dollars, since removed tokens are estimates. */
  readonly savedDeviation: number;
  /** Shadow mode: tokens and dollars that cuts would have saved. */
  readonly would: { readonly removed: number; readonly dollars: number } | null;
}

/**
 * Contribution of new texts to the figures of their tool and kind.
 *
 * @param entering - price of a new token, in dollars
 */
export function textSums(about: About, texts: readonly TextFacts[], entering: number): SumGroup[] {
  return texts.flatMap(({ tool, kind, cut, whole = '', tokensBefore, tokensAfter, linesCut = 0 }) => {
    const removed = tokensBefore - tokensAfter;
    const isCut = cut ? 1 : 0;
    const fields = { texts: 1, cut: isCut, tokens: tokensBefore, removed, saved: removed * entering };
    const sums = [toolSums(about, tool, kind, fields)];
    if (!cut && whole !== '') sums.push(wholeSums(about, whole, 'left'));
    if (kind === REPEAT) {
      const repeats = { texts: isCut, lines: linesCut, tokens: removed, readAgain: 1 - isCut };
      sums.push(repeatSums(about, repeats));
    }
    return sums;
  });
}

/** Contribution of new results that were not examined. */
export function unexaminedSums(about: About, { reason, messages }: UnexaminedFacts, newFrom: number): SumGroup[] {
  return messages.flatMap((at) => (at >= newFrom ? wholeSums(about, reason, 'notExamined') : []));
}

/** A result that was left whole. `left` and the cut texts add up to the texts of all tools. */
function wholeSums({ atMs, project }: About, reason: string, field: 'left' | 'notExamined'): SumGroup {
  return { day: dayOf(atMs), project, slice: 'whole', key: reason, fields: { [field]: 1 } };
}

/** Kind of decisions about repeats. Without a cut, the agent read a place again. */
const REPEAT = 'repeat';

/** Figures about lines that were cut because an earlier result shows them. */
export function repeatSums({ atMs, project }: About, fields: SumGroup['fields']): SumGroup {
  return { day: dayOf(atMs), project, slice: 'repeat', key: '', fields };
}

type About = Pick<LedgerTurn, 'atMs' | 'project'>;

/** Contribution of a regret to the figures of its tool and kind. */
export function regretSums(about: About, { how, tool, kind, tokens }: RegretFacts, entering: number): SumGroup {
  return toolSums(about, tool, kind, { [how]: 1, regretTokens: tokens, regretDollars: tokens * entering });
}

function toolSums({ atMs, project }: About, tool: string, kind: string, fields: SumGroup['fields']): SumGroup {
  return { day: dayOf(atMs), project, slice: 'tool', key: `${tool}\t${kind}`, fields };
}

/** Figures for a request with a reported change of history, including the ledger's analysis of it. */
export function brokenSums({ atMs, project, requestId, conversationId }: RequestFacts, { cause, at }: Miss): SumGroup {
  const key = ['request', requestId, conversationId, cause, at].join('\t');
  return { day: dayOf(atMs), project, slice: 'prefix', key, fields: { reported: 1 } };
}

/** Figures about results put aside while the cache was cold. */
export function coldSums({ atMs, project, model }: RequestFacts, fields: SumGroup['fields']): SumGroup {
  return { day: dayOf(atMs), project, slice: 'cold', key: model, fields };
}

const OTHERS: Others = '(others)';
/**
 * Maximum number of waiting groups, and of additional ones for the project `(others)`, which collects further figures.
 */
const MAX_GROUPS = 5_000;
const MAX_OTHERS = 1_000;

interface Waiting extends Omit<LedgerSum, 'field' | 'value'> {
  readonly fields: Map<string, number>;
}

/** Accumulates figures until they are written. Each request has some forty, most of them in a few groups. */
export class WaitingSums {
  #groups = new Map<string, Waiting>();

  get isEmpty(): boolean {
    return this.#groups.size === 0;
  }

  add(group: SumGroup): void {
    const { day, project, slice, key, fields } = group;
    const waiting = this.#groups.get(`${day}\0${project}\0${slice}\0${key}`) ?? this.#groupOf(group);
    for (const field in fields) {
      const value = fields[field] ?? 0;
      if (value !== 0) waiting.fields.set(field, (waiting.fields.get(field) ?? 0) + value);
    }
  }

  /** Puts back sums that could not be written. */
  putBack(sums: readonly LedgerSum[]): void {
    for (const { field, value, ...of } of sums) this.add({ ...of, fields: { [field]: value } });
  }

  #groupOf({ day, project, slice, key }: SumGroup): Waiting {
    const id = `${day}\0${project}\0${slice}\0${key}`;
    const known = this.#groups.get(id);
    if (known) return known;
    const { size } = this.#groups;
    if (size >= MAX_GROUPS && project !== OTHERS)
      return this.#groupOf({ day, project: OTHERS, slice, key, fields: {} });
    if (size >= MAX_GROUPS + MAX_OTHERS && key !== OTHERS && key !== '') {
      return this.#groupOf({ day, project, slice, key: OTHERS, fields: {} });
    }
    const waiting: Waiting = { day, project, slice, key, fields: new Map() };
    this.#groups.set(id, waiting);
    return waiting;
  }

  /** Returns all waiting sums and clears them. */
  take(): readonly LedgerSum[] {
    const groups = this.#groups;
    this.#groups = new Map();
    return [...groups.values()].flatMap(({ day, project, slice, key, fields }) =>
      Array.from(fields, ([field, value]): LedgerSum => ({ day, project, slice, key, field, value })),
    );
  }
}
