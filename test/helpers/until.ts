const MOST_PAUSE_MS = 50;

/**
 * Waits until something holds, looking again and again: ever less often, since looking takes CPU time from what is
 * waited for.
 *
 * @returns what `look` gave, once it was neither `undefined`, `null` nor `false`
 */
export async function until<T>(
  look: () => T | Promise<T>,
  withinMs = 30_000,
): Promise<Exclude<T, undefined | null | false>> {
  const endMs = performance.now() + withinMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(MOST_PAUSE_MS, pauseMs * 1.25)) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found as Exclude<T, undefined | null | false>;
    if (performance.now() > endMs) throw new Error(`did not come true within ${withinMs} ms: ${look}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
