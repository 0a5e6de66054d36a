import { performance } from 'node:perf_hooks';
import type { Case } from './cases.ts';
import { Broken } from './check.ts';
import { checkCall } from './check-call.ts';
import { checkChat } from './check-chat.ts';
import { checkText } from './check-text.ts';
import type { Ground } from './ground.ts';

/**
 * A case that takes longer than this, three times over, is too slow; milliseconds, and more for each 1,000 characters. The
 * lesser of the clock, which goes on while others have the machine, and the CPU time, which other threads use as well.
 */
const SLOW_MS = 1_500;
const SLOW_MS_A_KILO = 40;

/** What a case came to: the broken promise, or `null`. */
export interface Failure {
  readonly rule: string;
  readonly message: string;
}

/** Runs one case; whatever it throws is a failure. */
export async function runCase(given: Case, ground: Ground): Promise<Failure | null> {
  for (let attempt = 1; ; attempt++) {
    await ground.next();
    const began = performance.now();
    const cpuBegan = process.cpuUsage();
    try {
      if (given.kind === 'text') checkText(given);
      else if (given.kind === 'call') await checkCall(given, ground);
      else await checkChat(given, ground);
    } catch (cause) {
      if (cause instanceof Broken) return { rule: cause.rule, message: cause.message };
      const stack = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
      return { rule: `throws ${cause instanceof Error ? cause.name : 'something'}`, message: stack };
    }
    const { user, system } = process.cpuUsage(cpuBegan);
    const took = Math.min(performance.now() - began, (user + system) / 1_000);
    if (took < SLOW_MS || took < SLOW_MS + (JSON.stringify(given).length / 1_000) * SLOW_MS_A_KILO) return null;
    // The machine may have been busy with something else.
    if (attempt === 3) return { rule: 'bounded time', message: `${Math.round(took)} ms` };
  }
}
