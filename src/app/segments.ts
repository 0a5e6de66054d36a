import type { SegmentPorts } from '../core/ports/segments.ts';
import type { EventRecord } from '../core/ports.ts';
import { StoredMarks } from '../core/result-marks.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { ContextBudget } from '../gc/budget.ts';
import { DirectiveBook } from '../gc/directive-book.ts';
import { PayingSteps } from '../gc/paying-steps.ts';
import type { StepOptions, TakenStep } from '../gc/take-step.ts';
import type { Services } from './compose.ts';

const STEP_WORDS: Readonly<Record<TakenStep['by'], string>> = {
  budget: 'context over its budget, parts stashed',
  payoff: 'older copies of what was read again are stashed, because that pays now',
  cold: "the provider's cache was cold: old results are put aside",
};

/** Ports for segments: directives and, if context GC is on, the collectors. */
export function segmentsOf(
  { settings, store, clock, log, failures, cold, thresholds }: Services,
  hasProjects: boolean,
): SegmentPorts {
  const options: StepOptions = {
    store: store.segments,
    events: hasProjects ? { addEvents: (events) => store.addEvents(events.map(withProject)) } : store,
    clock,
    onStep: (step) => log.info({ ...step, tokensSaved: step.tokensBefore - step.tokensAfter }, STEP_WORDS[step.by]),
    onFailure: failures.of('segments'),
  };
  const { contextBudgetTokens: tokens } = settings;
  const collector = new ContextBudget({ ...options, tokens, thresholds, marks: new StoredMarks(store), stashId });
  return {
    directives: new DirectiveBook(store.segments),
    ...cold.ports(options),
    collector: tokens === 0 ? undefined : collector,
    costCollector: settings.stashSeenAgain ? new PayingSteps(options) : undefined,
  };
}

/** Assigns an event to the project that its payload names. */
function withProject(event: EventRecord): EventRecord {
  return { ...event, project: String(event.payload.project) };
}
