import { recogniseKind } from '../../engine/kinds/recognise.ts';
import { sampleLines } from '../../engine/sample-lines.ts';
import { countLines } from '../../engine/text/lines.ts';
import { viewText } from '../../engine/text/view.ts';
import type { LineScorer, Scored } from '../ports.ts';
import type { Job } from './decision.ts';

/** Share of a text's time limit that a backend may use. The rest is reserved for ranking without it if it fails. */
const BACKEND_SHARE = 0.8;
/** Maximum number of texts of one request that a backend scores concurrently. */
const AT_ONCE = 4;

/** The backend's share of a decision's time limit, in milliseconds. */
export function backendTime(timeoutMs: number): number {
  return Math.floor(timeoutMs * BACKEND_SHARE);
}

/** Requests scores from a backend. Texts that the limits keep whole anyway are not sent. */
export async function askBackend(
  scorer: LineScorer,
  job: Job,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Scored> {
  if (job.keepWhole || !mayCut(job)) return { scores: null, warnings: [], stats: { backend: scorer.name } };
  return scorer.score({
    text: job.text,
    textHash: job.textHash,
    goal: job.goal,
    // always resolved: a declared type and the same detected type share a score-cache entry
    sourceType:
      job.sourceType ?? recogniseKind(viewText(job.text, job.hints.frameHead ?? 0), undefined, job.hints).sourceType,
    sample: (limit) => sampleLines(job, limit),
    timeoutMs: Math.max(1, timeoutMs),
    signal,
  });
}

/**
 * Requests scores for many jobs with limited concurrency, until `deadline` (on the `performance.now()` clock). Jobs not
 * started by then get a failure result.
 */
export async function askAboutAll<Key>(
  scorer: LineScorer,
  jobs: ReadonlyMap<Key, Job>,
  deadline: number,
): Promise<Map<Key, Scored>> {
  const answers = new Map<Key, Scored>();
  const waiting = jobs.entries();
  const work = async (): Promise<void> => {
    for (const [key, job] of waiting) {
      const left = deadline - performance.now();
      answers.set(key, left > 0 ? await askBackend(scorer, job, left) : tooLate(scorer));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, jobs.size) }, work));
  return answers;
}

function tooLate({ name }: LineScorer): Scored {
  return { scores: null, warnings: ['backend_not_asked'], stats: { backend: name } };
}

/** Whether the limits allow at least one line to be cut. */
function mayCut({ text, limits: { maxPruneRatio, minKeepLines } }: Job): boolean {
  const lines = countLines(text);
  return Math.floor(maxPruneRatio * lines + 1e-9) >= 1 && lines > minKeepLines;
}
