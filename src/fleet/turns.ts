/** Work that may pause wherever it yields, so that a long piece of it never holds the event loop. */
export type Turns<T> = Generator<undefined, T, undefined>;

/** How long one turn lasts. */
const TURN_MS = 4;

/** Does the work to its end without a pause. */
export function atOnce<T>(work: Turns<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

/** Does the work in turns of some milliseconds, between which other events are served. */
export async function inTurns<T>(work: Turns<T>): Promise<T> {
  let endMs = performance.now() + TURN_MS;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (performance.now() < endMs) continue;
    await nextTurn();
    endMs = performance.now() + TURN_MS;
  }
}

/** Lets other events be served before what follows. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
