import type { FailureReporter } from '../base/failures.ts';
import type { BoldnessFact, BoldnessSteps } from '../core/ports/boldness.ts';
import type { BoldnessStep } from '../core/ports/ledger.ts';
import type { LedgerStore, LedgerSum } from '../core/ports/ledger-store.ts';
import { dayOf } from './prices.ts';

export interface LearnerOptions {
  readonly store: Pick<LedgerStore, 'sums' | 'steps' | 'addStep'>;
  readonly clock: { nowMs(): number };
  /** Called for each step that this process makes, with the previous step. */
  readonly onStep: (step: BoldnessStep, before: number) => void;
  readonly onFailure: FailureReporter;
}

/** Number of cut texts, and of regretted ones. */
export interface Evidence {
  readonly cut: number;
  readonly regretted: number;
}

const DAY_MS = 86_400_000;
/** Older evidence is ignored, because tools and prompts change, in days. Set by hand. */
const DAYS_OF_EVIDENCE = 90;
/** Interval for reading figures, and steps of other processes. */
const EVERY_MS = 60_000;
const MILDEST = -2;
const BOLDEST = 2;
/**
 * Thresholds for the share of regretted texts: above the first, cuts become milder; below the second, bolder.
 * Rationale: a cut text saves some 700 tokens, which together with later cache reads are worth 2,200 new tokens; a
 * regret costs one more request, worth some 2,700 new tokens if 20,000 tokens of the prompt are read from the cache.
 * Above 0.8 cuts lose money, and long before that they hinder the agent. In recorded conversations one text in six is
 * regretted, of source code one in three.
 */
const TOO_MANY = 0.2;
const FAR_BELOW = 0.02;
/** Minimum number of texts for a step. Set by hand. */
const LEAST_TEXTS = 12;
/** Quantile of the normal distribution: one-sided, 95 %. */
const Z = 1.645;
/** Field names in the slice `step`. */
export const STEP_FIELDS = { cut: 'cut', regretted: 'regretted' } as const;

/** Key of texts that were cut at a level of boldness. The tool comes last, because stores truncate long names. */
export function stepKey({ boldness, tool, kind }: StepTexts): string {
  return `${boldness}\t${kind}\t${tool}`;
}

interface StepTexts {
  /** Number of the boldness fact in force when the texts were cut; 0 if there was none. */
  readonly boldness: number;
  readonly tool: string;
  readonly kind: string;
}

/**
 * Determines the next boldness step from the evidence for the current one. It becomes milder once the lower bound of
 * the Wilson interval (E. B. Wilson, JASA 22, 1927) for the regretted share is above `TOO_MANY`, and bolder once the
 * upper bound is below `FAR_BELOW`.
 */
export function stepAfter(step: number, { cut, regretted }: Evidence): number {
  if (cut < LEAST_TEXTS) return step;
  const share = Math.min(1, regretted / cut);
  const middle = share + (Z * Z) / (2 * cut);
  const spread = Z * Math.sqrt((share * (1 - share)) / cut + (Z * Z) / (4 * cut * cut));
  const over = 1 + (Z * Z) / cut;
  if ((middle - spread) / over > TOO_MANY) return Math.max(MILDEST, step - 1);
  if ((middle + spread) / over < FAR_BELOW) return Math.min(BOLDEST, step + 1);
  return step;
}

/**
 * Learns from regret how boldly texts of a (project, tool, kind) are cut. Earlier decisions never change: a step only
 * applies to later decisions.
 */
export class Learner implements BoldnessSteps {
  readonly #options: LearnerOptions;
  #held: ReadonlyMap<string, ReadonlyMap<string, BoldnessFact>> = new Map();
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(options: LearnerOptions) {
    this.#options = options;
  }

  of(project: string, tool: string): ReadonlyMap<string, BoldnessFact> | null {
    return this.#held.size === 0 ? null : (this.#held.get(ofTool(project, tool)) ?? null);
  }

  /** Reads the steps in force. Never rejects: without them the settings apply. */
  async start(): Promise<void> {
    try {
      this.#hold(await this.#options.store.steps());
    } catch (cause) {
      this.#options.onFailure('boldness_not_read', cause);
    }
  }

  /** Reads the regrets and takes the resulting steps. Called periodically. Never rejects. */
  async learnIfDue(): Promise<void> {
    const { clock, onFailure } = this.#options;
    const now = clock.nowMs();
    if (Math.abs(now - this.#checkedMs) < EVERY_MS) return;
    this.#checkedMs = now;
    try {
      await this.#learn(now);
    } catch (cause) {
      onFailure('boldness_not_learnt', cause);
    }
  }

  async #learn(now: number): Promise<void> {
    const { store, onStep } = this.#options;
    const sinceDay = dayOf(now - DAYS_OF_EVIDENCE * DAY_MS);
    const [sums, steps] = await Promise.all([store.sums({ sinceDay, slice: 'step' }), store.steps()]);
    const held = new Map(steps.map((one) => [idOf(one), one]));
    for (const { project, boldness, tool, kind, ...seen } of evidenceOf(sums)) {
      const id = idOf({ project, tool, kind });
      const last = held.get(id);
      const before = last?.step ?? 0;
      const step = stepAfter(before, seen);
      if (boldness !== (last?.number ?? 0) || step === before) continue;
      const fact = { project, tool, kind, step, atMs: now, texts: seen.cut, regretted: seen.regretted };
      const taken = await store.addStep(fact, boldness);
      if (taken === null) continue; // another process took a step first, which is read next time
      held.set(id, taken);
      onStep(taken, before);
    }
    this.#hold([...held.values()]);
  }

  #hold(steps: readonly BoldnessStep[]): void {
    const held = new Map<string, Map<string, BoldnessFact>>();
    for (const { project, tool, kind, number, step } of steps) {
      const id = ofTool(project, tool);
      const kinds = held.get(id) ?? new Map<string, BoldnessFact>();
      held.set(id, kinds.set(kind, { number, step }));
    }
    this.#held = held;
  }
}

function ofTool(project: string, tool: string): string {
  return `${project}\0${tool}`;
}

function idOf({ project, tool, kind }: Pick<BoldnessStep, 'project' | 'tool' | 'kind'>): string {
  return `${ofTool(project, tool)}\0${kind}`;
}

/** Collects the evidence for each step. */
function evidenceOf(sums: readonly LedgerSum[]): (StepTexts & Evidence & { readonly project: string })[] {
  const seen = new Map<string, { project: string; key: string; cut: number; regretted: number }>();
  for (const { project, key, field, value } of sums) {
    const id = `${project}\0${key}`;
    const one = seen.get(id) ?? { project, key, cut: 0, regretted: 0 };
    seen.set(id, one);
    if (field === STEP_FIELDS.cut || field === STEP_FIELDS.regretted) one[field] += value;
  }
  return [...seen.values()].map(({ key, ...one }) => {
    const [boldness, kind = '', tool = ''] = key.split('\t');
    return { ...one, boldness: Number(boldness), kind, tool };
  });
}
