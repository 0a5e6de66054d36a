import type { Context } from 'mcp-pruner/app/context.ts';
import type { ContextGuest, ContextParts } from 'mcp-pruner/app/guest.ts';
import type { SegmentPorts } from 'mcp-pruner/core/ports/segments.ts';
import type { EventRecord } from 'mcp-pruner/core/ports.ts';
import { StoredMarks } from 'mcp-pruner/core/result-marks.ts';
import { DirectiveBook } from 'mcp-pruner/core/segments/directive-book.ts';
import { ContextBudget } from './budget.ts';
import { type Cold, openCold } from './cold/open.ts';
import { collectorOf } from './collector.ts';
import { ContextGc } from './context-gc.ts';
import { SegmentObserver } from './observer.ts';
import { type CacheRates, PayingSteps } from './paying-steps.ts';
import { Recorder } from './recorder.ts';
import type { StepOptions, TakenStep } from './take-step.ts';
import { contextGcPinTool, contextGcPruneTool, contextGcUnpinTool } from './tools/context-gc.ts';
import { contextGcAnalyzeTool } from './tools/context-gc-analyze.ts';

/** Opens context GC: records segments of requests, and puts old ones aside. */
export function openContextGc(context: Context, parts: ContextParts): ContextGuest {
  const { settings, store, failures, clock, behind } = context;
  const onFailure = failures.of('segments');
  const recorder = new Recorder({
    ...{ store: store.segments, clock, behind, onFailure },
    keepsOpenings: settings.conversationTitles,
  });
  const cold = openCold(context, parts);
  return {
    name: 'context',
    rows: {},
    sees: new SegmentObserver(recorder),
    flush: async () => void (await Promise.all([recorder.flush(), cold.flush()])),
    cold,
    segments: (hasProjects) => portsOf(context, parts, cold, hasProjects),
    over(viewed, flush) {
      const gc = new ContextGc({
        ...{ store: viewed.store.segments, events: viewed.store, clock, flush },
        onFailure,
      });
      const tools = [contextGcAnalyzeTool, contextGcPruneTool, contextGcPinTool, contextGcUnpinTool];
      return { gc, tools: tools.map((tool) => tool(gc)) };
    },
  };
}

const STEP_WORDS: Readonly<Record<TakenStep['by'], string>> = {
  budget: 'context over its budget, parts stashed',
  payoff: 'old results are put aside, because that pays now',
  cold: "the provider's cache was cold: old results are put aside",
};

/** Ports of the pipeline: directives, and the reasons to put results aside that are configured. */
function portsOf(
  { settings, store, clock, log, failures }: Context,
  { ratesOf }: ContextParts,
  cold: Cold,
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
  const staying = { ...options, marks: new StoredMarks(store) };
  return {
    directives: new DirectiveBook(store.segments),
    collector: collectorOf({
      ...cold.ports(options),
      budget: tokens === 0 || tokens === 'auto' ? undefined : new ContextBudget({ ...staying, tokens }),
      paying:
        tokens === 'auto'
          ? new PayingSteps({ ...staying, ratesOf: (model) => ratesOf(model) ?? USUAL_RATES })
          : undefined,
    }),
  };
}

/** Prices of a model without a price: a cache read costs a tenth of other input. */
const USUAL_RATES: CacheRates = { read: 0.1, write: 1.25 };

/** Assigns an event to the project that its payload names. */
function withProject(event: EventRecord): EventRecord {
  return { ...event, project: String(event.payload.project) };
}
