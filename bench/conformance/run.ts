import { shrink } from '../fuzz/shrink.ts';
import { type PlanOptions, planOf } from './plan.ts';
import type { Target } from './target.ts';
import type { Plan } from './types.ts';
import { CheckingUpstream } from './upstream.ts';
import { type Outcome, World } from './world.ts';

/** Opens a proxy in front of an upstream; each plan has one of its own. */
export type OpenTarget = (upstream: CheckingUpstream) => Promise<Target>;

/** Runs one plan against a fresh upstream and a fresh proxy. */
export async function runPlan(plan: Plan, open: OpenTarget, port = 0): Promise<Outcome> {
  const upstream = new CheckingUpstream();
  await upstream.start(port);
  const target = await open(upstream);
  try {
    return await new World(plan, target, upstream).run();
  } finally {
    await target.close();
    await upstream.close();
  }
}

/** Whether a plan showed that something was broken or lost. */
export function isBroken({ breaks, failed, lost }: Outcome): boolean {
  return breaks.length + failed.length + lost.length > 0;
}

export interface RunOptions extends PlanOptions {
  readonly seed: number;
  /** Total number of sessions of all plans, at least. */
  readonly sessions: number;
  readonly open: OpenTarget;
  readonly port?: number;
  /** No further plan begins after this time of `performance.now()`. */
  readonly untilMs?: number;
  readonly onPlan?: (plan: Plan, outcome: Outcome) => void;
}

/** The sums of all plans, and the plans that failed. */
export interface Totals {
  readonly plans: number;
  readonly sessions: number;
  readonly requests: number;
  readonly rewritten: number;
  readonly swapped: number;
  readonly refused: number;
  readonly killed: number;
  readonly recovered: number;
  readonly failing: readonly { readonly plan: Plan; readonly outcome: Outcome }[];
}

/** Runs plans of ascending seeds until enough sessions are done. */
export async function runSeeds(options: RunOptions): Promise<Totals> {
  const { seed, sessions: wanted, open, port, untilMs = Number.POSITIVE_INFINITY, onPlan } = options;
  const failing: { plan: Plan; outcome: Outcome }[] = [];
  const sums = { plans: 0, sessions: 0, requests: 0, rewritten: 0, swapped: 0, refused: 0, killed: 0, recovered: 0 };
  for (let next = seed; sums.sessions < wanted && performance.now() < untilMs; next++) {
    const plan = planOf(next, options);
    const outcome = await runPlan(plan, open, port);
    sums.plans++;
    sums.sessions += outcome.sessions;
    sums.requests += outcome.requests;
    sums.rewritten += outcome.rewritten;
    sums.swapped += outcome.swapped;
    sums.refused += outcome.refused;
    sums.killed += outcome.killed;
    sums.recovered += outcome.recovered;
    if (isBroken(outcome)) failing.push({ plan, outcome });
    onPlan?.(plan, outcome);
  }
  return { ...sums, failing };
}

/** The smallest part of a failing plan that was found to fail in the same way. */
export async function shrinkPlan(plan: Plan, open: OpenTarget, forMs: number, port = 0): Promise<Plan> {
  const first = kindOf(await runPlan(plan, open, port));
  const steps = await shrink(
    plan.steps.map((_, i) => ({ i, kind: 'step' })),
    async (kept) => {
      const smaller = { ...plan, steps: kept.flatMap(({ i }) => plan.steps[i] ?? []) };
      return kindOf(await runPlan(smaller, open, port)) === first;
    },
    forMs,
  );
  return { ...plan, steps: steps.flatMap(({ i }) => plan.steps[i] ?? []) };
}

/** What was wrong, in one word; `''`: nothing. */
function kindOf({ breaks, failed, lost }: Outcome): string {
  return breaks[0]?.effect ?? (failed.length > 0 ? 'failed' : lost.length > 0 ? 'lost' : '');
}
