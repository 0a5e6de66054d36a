import type { Pausable } from '../src/turns.ts';

/** Runs the work to its end without a pause. */
export function atOnce<T>(work: Pausable<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
