import type { ProjectBook } from '../config/project-book.ts';
import { isLocalUrl } from '../config/warnings.ts';
import type { SumGroup } from '../core/ports/ledger-store.ts';
import { StoredMarks } from '../core/result-marks.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { ColdBooks } from '../gc/cold/books.ts';
import { ColdMoments } from '../gc/cold/cold-moments.ts';
import { ColdStash, type ColdStashSetting } from '../gc/cold/cold-stash.ts';
import { LastAnswers } from '../gc/cold/last-answers.ts';
import type { StepOptions } from '../gc/take-step.ts';
import { type ProviderName, providerFacts } from '../wires/providers/facts.ts';
import { type Context, requestIds } from './context.ts';

/** Components for putting old results aside while the provider's cache is cold. */
export interface Cold {
  readonly books: ColdBooks;
  /** Whether a provider is on this machine or the local network. */
  isLocal(wire: string, cloud?: ProviderName): boolean;
  /** Returns the collector that puts old results aside, and what it needs to know about requests. */
  ports(options: StepOptions): { readonly coldCollector: ColdStash; readonly sent: LastAnswers };
}

/** Provider of each wire that does not belong to a cloud. */
const providerOf = new Map<string, ProviderName>(
  [...providerFacts].reverse().flatMap(({ name, wires }) => wires.map((wire) => [wire, name] as const)),
);

/** Opens the components. Whether they are active is decided per project. */
export function openCold(
  { settings, store, clock, failures, projectBook }: Context & { readonly projectBook: ProjectBook },
  count: (sums: readonly SumGroup[]) => void,
): Cold {
  const onFailure = failures.of('segments');
  const settingOf = (project: string): ColdStashSetting => projectBook.coldStashOf(project);
  const isOn = (project: string): boolean => settingOf(project) !== 'off';
  const answers = new LastAnswers({ ledger: store.ledger, isOn, process: requestIds(clock)(), onFailure });
  const marks = new StoredMarks(store);
  const local = new Set(
    providerFacts.flatMap(({ name, key }) => {
      const url = settings[key];
      return url !== null && isLocalUrl(url) ? name : [];
    }),
  );
  const isLocal = (wire: string, cloud = providerOf.get(wire)): boolean => cloud !== undefined && local.has(cloud);
  const books = new ColdBooks({ answers, marks, ledger: store.ledger, clock, count, onFailure });
  const moments = new ColdMoments(answers, isLocal);
  return {
    books,
    isLocal,
    ports: (options) => ({
      sent: answers,
      coldCollector: new ColdStash({ ...options, settingOf, moments, answers, marks, stashId, books }),
    }),
  };
}
