import type { SegmentPorts } from '../core/ports/segments.ts';
import type { Clock, EventRecord } from '../core/ports.ts';
import { StoredMarks } from '../core/result-marks.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { ContextBudget } from '../gc/budget.ts';
import { DirectiveBook } from '../gc/directive-book.ts';
import { type CacheRates, PayingSteps } from '../gc/paying-steps.ts';
import type { StepOptions, TakenStep } from '../gc/take-step.ts';
import type { Services } from './compose.ts';

const STEP_WORDS: Readonly<Record<TakenStep['by'], string>> = {
  budget: 'context over its budget, parts stashed',
  payoff: 'old results are put aside, because that pays now',
  cold: "the provider's cache was cold: old results are put aside",
};

/** Ports for segments: directives and, if context GC is on, the collectors. */
export function segmentsOf(
  { settings, store, clock, log, failures, cold, prices }: Services,
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
  const staying = { ...options, marks: new StoredMarks(store), stashId };
  return {
    directives: new DirectiveBook(store.segments),
    ...cold.ports(options),
    collector: tokens === 0 || tokens === 'auto' ? undefined : new ContextBudget({ ...staying, tokens }),
    costCollector:
      tokens === 'auto'
        ? new PayingSteps({ ...staying, ratesOf: (model) => ratesOf(prices, model, clock) })
        : undefined,
  };
}

/** Prices of a model without a price: a cache read costs a tenth of other input. */
const USUAL_RATES: CacheRates = { read: 0.1, write: 1.25 };

function ratesOf(prices: Services['prices'], model: string, clock: Clock): CacheRates {
  const price = prices.of(model, clock.nowMs());
  return price === null ? USUAL_RATES : { read: price.read, write: Math.max(price.write5m, price.input) };
}

/** Assigns an event to the project that its payload names. */
function withProject(event: EventRecord): EventRecord {
  return { ...event, project: String(event.payload.project) };
}
