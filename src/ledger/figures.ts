import type { LedgerSum, LedgerTurn, RegretFacts, TextFacts } from '../core/ports/ledger.ts';
import type { Bill } from './bill.ts';
import { dayOf } from './days.ts';
import { STEP_FIELDS, stepKey } from './learning.ts';

/** Names of the figures that a request adds to its day. */
export type TotalField =
  | 'requests'
  | 'unpriced'
  | 'estimated'
  | 'fresh'
  | 'write5m'
  | 'write1h'
  | 'read'
  | 'output'
  | 'dollars'
  | 'without'
  | 'removed'
  | 'removedNew'
  | 'regretTokens'
  | 'regretDollars'
  | 'missTokens'
  | 'missDollars'
  | 'looked'
  | 'lookedRemoved'
  | 'reported'
  | 'guessed'
  | 'wouldRemove'
  | 'wouldSave'
  | 'checked'
  | 'checkFailed'
  | 'checkedExact'
  | 'checkedEstimated';

/** What a request adds to the figures of its day, as a whole and by model. */
export function turnSums(turn: LedgerTurn, texts: readonly TextFacts[], counted: Counted): LedgerSum[] {
  const priced = turn.dollars !== null;
  const fields: Readonly<Partial<Record<TotalField, number>>> = {
    requests: 1,
    unpriced: priced ? 0 : 1,
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
    looked: texts.reduce((sum, { tokensBefore }) => sum + tokensBefore, 0),
    lookedRemoved: texts.reduce((sum, { tokensBefore, tokensAfter }) => sum + tokensBefore - tokensAfter, 0),
    reported: counted.reported,
    guessed: counted.guessed,
    wouldRemove: counted.would?.removed ?? 0,
    wouldSave: counted.would?.dollars ?? 0,
    checked: counted.checked === null ? 0 : 1,
    checkFailed: counted.checkFailed ? 1 : 0,
    checkedExact: counted.checked?.exact ?? 0,
    checkedEstimated: counted.checked?.estimated ?? 0,
  };
  const day = dayOf(turn.atMs);
  const { project } = turn;
  const sums: LedgerSum[] = [];
  for (const [field, value] of Object.entries(fields)) {
    if (value === 0) continue;
    sums.push({ day, project, slice: 'all', key: '', field, value });
    sums.push({ day, project, slice: 'model', key: turn.model, field, value });
  }
  if (turn.miss !== null) {
    const miss = { day, project, slice: 'miss', key: turn.miss } as const;
    sums.push({ ...miss, field: 'requests', value: 1 }, { ...miss, field: 'tokens', value: turn.missTokens });
    sums.push({ ...miss, field: 'dollars', value: turn.missDollars ?? 0 });
  }
  return sums;
}

/** Tokens of new messages: as the provider counted them, and as they were estimated. */
export interface Guess {
  readonly reported: number;
  readonly guessed: number;
}

/** What a request says of how well tokens are estimated: those that came, and those that were cut. */
export interface Counted extends Guess, Pick<Bill, 'checked'> {
  /** The provider was asked in vain. */
  readonly checkFailed: boolean;
  /** In shadow mode: tokens that would have been cut, and what that would have saved. */
  readonly would: { readonly removed: number; readonly dollars: number } | null;
}

/** What new texts add to the figures of their tool and kind. @param entering - dollars of a new token */
export function textSums(
  about: Pick<LedgerTurn, 'atMs' | 'project'>,
  texts: readonly TextFacts[],
  entering: number,
): LedgerSum[] {
  return texts.flatMap(({ tool, kind, cut, tokensBefore, tokensAfter }) => {
    const removed = tokensBefore - tokensAfter;
    const fields = { texts: 1, cut: cut ? 1 : 0, tokens: tokensBefore, removed, saved: removed * entering };
    return toolSums(about, tool, kind, fields);
  });
}

/** What a regret adds to the figures of its tool and kind. */
export function regretSums(
  about: Pick<LedgerTurn, 'atMs' | 'project'>,
  { how, tool, kind, tokens }: RegretFacts,
  entering: number,
): LedgerSum[] {
  return toolSums(about, tool, kind, { [how]: 1, regretTokens: tokens, regretDollars: tokens * entering });
}

function toolSums(
  { atMs, project }: Pick<LedgerTurn, 'atMs' | 'project'>,
  tool: string,
  kind: string,
  fields: Readonly<Record<string, number>>,
): LedgerSum[] {
  const about = { day: dayOf(atMs), project, slice: 'tool', key: `${tool}\t${kind}` } as const;
  return Object.entries(fields).flatMap(([field, value]) => (value === 0 ? [] : { ...about, field, value }));
}

/** What is learnt from: how many texts were cut by each boldness step, and how many of them regretted. */
export function stepSums(
  { atMs, project }: Pick<LedgerTurn, 'atMs' | 'project'>,
  texts: readonly Pick<TextFacts, 'tool' | 'kind' | 'boldness'>[],
  field: keyof typeof STEP_FIELDS,
): LedgerSum[] {
  const about = { day: dayOf(atMs), project, slice: 'step', field: STEP_FIELDS[field], value: 1 } as const;
  return texts.map((text) => ({ ...about, key: stepKey(text) }));
}
