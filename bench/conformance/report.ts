import { type OpenTarget, shrinkPlan } from './run.ts';
import type { Plan } from './types.ts';
import type { Outcome } from './world.ts';

const SHOWN = 5;

/** What the run of a plan showed, by line. */
export function planLines({ seed, seams }: Plan, outcome: Outcome): string[] {
  const { sessions, requests, swapped, refused, killed, breaks, failed, lost } = outcome;
  const counts = `${breaks.length} breaks, ${failed.length} failed, ${lost.length} lost`;
  const summaries = seams ? `, ${swapped} with a summary (${refused} refused, ${killed} killed)` : '';
  return [`seed ${seed}: ${sessions} sessions, ${requests} requests${summaries}, ${counts}`, ...faultLines(outcome)];
}

/** The first faults of a run, with the changed items before and after. */
export function faultLines({ breaks, failed, lost }: Outcome): string[] {
  return [
    ...breaks
      .slice(0, SHOWN)
      .flatMap(({ agent, wire, request, effect, item, was, is }) => [
        `  ${effect}: ${wire} agent ${agent}, request ${request}, item ${item}`,
        `    was ${JSON.stringify(was)}`,
        `    is  ${JSON.stringify(is)}`,
      ]),
    ...failed.slice(0, SHOWN).map((line) => `  failed: ${line}`),
    ...lost.slice(0, SHOWN).map((line) => `  lost: ${line}`),
  ];
}

/** A failing plan made small, as a line that `--plan FILE` runs again. */
export async function failingLines(plan: Plan, open: OpenTarget, shrinkMs: number, port = 0): Promise<string[]> {
  const small = await shrinkPlan(plan, open, shrinkMs, port);
  const steps = `${small.steps.length} of ${plan.steps.length} steps`;
  return [`seed ${plan.seed} fails with ${steps}; run it again with --plan FILE:`, JSON.stringify(small)];
}
