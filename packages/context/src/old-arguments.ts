import { isFailed } from 'mcp-pruner/base/failed-result.ts';
import type { OverTokenBudget, SeenArgument } from 'mcp-pruner/core/ports/segments.ts';
import { stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import { pathKey } from './keys.ts';
import type { StayingOptions } from './staying.ts';
import { freedBy } from './sweep.ts';

/** A string in a call's arguments that may be put aside. */
interface OldArgument {
  readonly id: string;
  readonly upTo: number;
  readonly freed: number;
  readonly stashId: string;
  /** Ids under which it may be stored. */
  readonly pruneIds: readonly string[];
}

/**
 * Arguments of calls that no longer show the state of their files: the call succeeded, and each of its files was changed
 * again later. The newest change of a file stays, and so does a call whose result is pinned.
 *
 * @param end - index of the first message that stays whole
 * @throws StoreUnavailable
 */
export async function oldArguments(
  { marks }: StayingOptions,
  { scope: { project }, request: { segments }, seenArguments, messageAt }: OverTokenBudget,
  end: number,
): Promise<OldArgument[]> {
  const changed = new Map<number, number>();
  /** Message index of the result of each call that succeeded. */
  const results = new Map<string, number>();
  for (const { edited, text, callId, ordinal, directed } of segments) {
    if (edited.length === 0 || isFailed(text, callId, () => messageAt(ordinal))) continue;
    if (directed !== 'pin') results.set(callId, ordinal);
    for (const path of edited) changed.set(pathKey(path), ordinal);
  }
  const isOld = ({ ordinal, callId, files, text, exempt, directed }: SeenArgument): boolean => {
    const result = results.get(callId);
    if (result === undefined || ordinal >= end || exempt || directed !== null || text.includes('NO_PRUNE'))
      return false;
    return files.every((path) => (changed.get(pathKey(path)) ?? 0) > result);
  };
  const old = seenArguments().flatMap((argument): OldArgument[] => {
    const freed = freedBy(argument);
    if (freed <= 0 || !isOld(argument)) return [];
    const { id, ordinal, pruneId } = argument;
    const ownId = stashId(project, id);
    return [{ id, upTo: ordinal, freed, stashId: ownId, pruneIds: [pruneId, ownId] }];
  });
  const givenOut = await marks.givenOut(old.flatMap(({ pruneIds }) => pruneIds));
  return old.filter(({ pruneIds }) => !pruneIds.some((id) => givenOut.has(id)));
}
