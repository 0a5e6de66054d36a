import { expect } from 'vitest';

/** Waits until something holds; a machine under load may take its time. */
export function soon<T>(look: () => T): ReturnType<typeof expect.poll<T>> {
  return expect.poll(look, { timeout: 30_000, interval: 20 });
}
