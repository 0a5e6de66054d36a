import { isLocalUrl } from '../config/warnings.ts';
import type { SumGroup } from '../core/ports/ledger-store.ts';
import { StoredMarks } from '../core/result-marks.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { ColdBooks } from '../gc/cold/books.ts';
import { ColdStash } from '../gc/cold/cold-stash.ts';
import { LastAnswers } from '../gc/cold/last-answers.ts';
import type { StepOptions } from '../gc/take-step.ts';
import { type ProviderName, providerFacts } from '../wires/providers/facts.ts';
import type { Context } from './context.ts';

/** Old results that are put aside at cold moments: what decides about them, and their books. */
export interface Cold {
  readonly books: ColdBooks;
  /** Whether a provider is on this machine or its network. */
  isLocal(wire: string, cloud?: ProviderName): boolean;
  collector(options: StepOptions): ColdStash;
}

/** The provider of each wire that is not a cloud's. */
const providerOf = new Map<string, ProviderName>(
  [...providerFacts].reverse().flatMap(({ name, wires }) => wires.map((wire) => [wire, name] as const)),
);

/** @returns `undefined` if it is switched off */
export function openCold(
  { settings, store, clock, failures }: Context,
  count: (sums: readonly SumGroup[]) => void,
): Cold | undefined {
  const { coldStash: setting } = settings;
  if (setting === 'off') return undefined;
  const answers = new LastAnswers(store.ledger);
  const marks = new StoredMarks(store);
  const local = new Set(
    providerFacts.flatMap(({ name, key }) => {
      const url = settings[key];
      return url !== null && isLocalUrl(url) ? name : [];
    }),
  );
  const isLocal = (wire: string, cloud = providerOf.get(wire)): boolean => cloud !== undefined && local.has(cloud);
  const onFailure = failures.of('segments');
  const books = new ColdBooks({ answers, marks, ledger: store.ledger, clock, count, onFailure });
  return {
    books,
    isLocal,
    collector: (options) => new ColdStash({ ...options, setting, answers, marks, stashId, isLocal, books }),
  };
}
