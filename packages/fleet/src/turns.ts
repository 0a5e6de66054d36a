/** Work that may pause at each yield, so that a long computation does not block the event loop. */
export type Pausable<T> = Generator<undefined, T, undefined>;

const TURN_MS = 4;

/** Runs the work in time slices of a few milliseconds, serving other events in between. */
export async function inTimeSlices<T>(work: Pausable<T>): Promise<T> {
  let endMs = performance.now() + TURN_MS;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (performance.now() < endMs) continue;
    await nextTurn();
    endMs = performance.now() + TURN_MS;
  }
}

/** Resolves in the next event-loop turn, so that other events are served first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
