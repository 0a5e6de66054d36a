import { isLocalUrl } from '../config/warnings.ts';
import type { SumGroup } from '../core/ports/ledger-store.ts';
import { StoredMarks } from '../core/result-marks.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { ColdBooks } from '../gc/cold/books.ts';
import { ColdStash } from '../gc/cold/cold-stash.ts';
import { LastAnswers } from '../gc/cold/last-answers.ts';
import type { StepOptions } from '../gc/take-step.ts';
import type { ProviderName } from '../wires/providers/facts.ts';
import { providerFacts } from '../wires/providers/facts.ts';
import type { Context } from './context.ts';

/** Old results that are put aside at cold moments: what decides about them, and their books. */
export interface Cold {
  readonly books: ColdBooks;
  /** Whether a provider is on this machine or its network. */
  isLocal(wire: string, cloud?: ProviderName): boolean;
  collector(options: StepOptions): ColdStash;
}

/** @returns `undefined` if it is switched off */
export function openCold(
  { settings, store, clock, failures }: Context,
  count: (sums: readonly SumGroup[]) => void,
): Cold | undefined {
  const { coldStash: setting } = settings;
  if (setting === 'off') return undefined;
  const answers = new LastAnswers(store.ledger);
  const marks = new StoredMarks(store);
  const isLocal = (wire: string, cloud?: ProviderName): boolean => {
    const provider = providerFacts.find(({ name, wires }) =>
      cloud === undefined ? (wires as readonly string[]).includes(wire) : name === cloud,
    );
    const url = provider && settings[provider.key];
    return typeof url === 'string' && isLocalUrl(url);
  };
  const onFailure = failures.of('segments');
  return {
    books: new ColdBooks({ answers, marks, ledger: store.ledger, clock, count, onFailure }),
    isLocal,
    collector: (options) => new ColdStash({ ...options, setting, answers, marks, stashId, isLocal, count }),
  };
}
