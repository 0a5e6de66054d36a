import { recogniseKind } from '../../engine/kinds/recognise.ts';
import { sampleLines } from '../../engine/sample-lines.ts';
import { countLines } from '../../engine/text/lines.ts';
import { viewText } from '../../engine/text/view.ts';
import type { LineScorer, Scored } from '../ports.ts';
import type { Job } from './decision.ts';

/** The part of the time for a text that a backend may take; the rest is for ranking without it, should it fail. */
const BACKEND_SHARE = 0.8;
/** Texts of one request that a backend is asked about at once. */
const AT_ONCE = 4;

/** What is left for a backend of the time for a whole decision, in milliseconds. */
export function backendTime(timeoutMs: number): number {
  return Math.floor(timeoutMs * BACKEND_SHARE);
}

/** Asks a backend about a job; a text that the bounds leave whole anyway is not sent anywhere. */
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
    // named or recognised, so that equal questions share a cache entry
    sourceType:
      job.sourceType ?? recogniseKind(viewText(job.text, job.hints.frameHead ?? 0), undefined, job.hints).sourceType,
    sample: (limit) => sampleLines(job, limit),
    timeoutMs: Math.max(1, timeoutMs),
    signal,
  });
}

/**
 * Asks about many jobs, some at a time, until `deadline` (of `performance.now()`). What it did not get to by then is
 * answered as a failure.
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

/** Whether the bounds let a single line go. */
function mayCut({ text, limits: { maxPruneRatio, minKeepLines } }: Job): boolean {
  const lines = countLines(text);
  return Math.floor(maxPruneRatio * lines + 1e-9) >= 1 && lines > minKeepLines;
}
