import { type Context, requestIds } from 'mcp-pruner/app/context.ts';
import type { ContextParts } from 'mcp-pruner/app/guest.ts';
import { isLocalUrl } from 'mcp-pruner/config/warnings.ts';
import type { ColdReports } from 'mcp-pruner/core/ports/context-gc.ts';
import type { Collector } from 'mcp-pruner/core/ports/segments.ts';
import { StoredMarks } from 'mcp-pruner/core/result-marks.ts';
import { providerFacts } from 'mcp-pruner/wires/providers/facts.ts';
import type { StepOptions } from '../take-step.ts';
import { ColdBooks } from './books.ts';
import { ColdMoments } from './cold-moments.ts';
import { ColdStash, type ColdStashSetting } from './cold-stash.ts';
import { LastAnswers } from './last-answers.ts';

/** Components for putting old results aside while the provider's cache is cold. */
export interface Cold extends ColdReports {
  /** Resolves when all recoveries so far are counted. Never rejects. */
  flush(): Promise<void>;
  /** Returns what puts old results aside, and what it needs to know about requests. */
  ports(options: StepOptions): { readonly cold: ColdStash; readonly sending: Collector['sending'] };
}

/** Provider of each wire that does not belong to a cloud. */
const providerOf = new Map<string, string>(
  [...providerFacts].reverse().flatMap(({ name, wires }) => wires.map((wire) => [wire, name] as const)),
);

/** Opens the components. Whether they are active is decided per project. */
export function openCold({ settings, store, clock, failures }: Context, { projectBook, count }: ContextParts): Cold {
  const onFailure = failures.of('segments');
  const settingOf = (project: string): ColdStashSetting => projectBook.coldStashOf(project);
  const isOn = (project: string): boolean => settingOf(project) !== 'off';
  const answers = new LastAnswers({ ledger: store.ledger, isOn, process: requestIds(clock)(), onFailure });
  const marks = new StoredMarks(store);
  const local = new Set<string>(
    providerFacts.flatMap(({ name, key }) => {
      const url = settings[key];
      return url !== null && isLocalUrl(url) ? name : [];
    }),
  );
  const isLocal = (wire: string, cloud = providerOf.get(wire)): boolean => cloud !== undefined && local.has(cloud);
  const books = new ColdBooks({ answers, marks, ledger: store.ledger, clock, count, onFailure });
  const moments = new ColdMoments(answers, isLocal);
  return {
    answered: ({ facts, atMs, tookMs, wire, cloud }) =>
      books.answered({ facts, atMs, tookMs, isLocal: isLocal(wire, cloud) }),
    recovered: (pruneIds) => books.recovered(pruneIds),
    flush: () => books.flush(),
    ports: (options) => ({
      sending: (request) => answers.sending(request),
      cold: new ColdStash({ ...options, settingOf, moments, answers, marks, books }),
    }),
  };
}
