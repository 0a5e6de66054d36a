import type { WorkCounts } from '../core/ports/ledger.ts';
import type { WorkFacts } from '../core/ports/request-facts.ts';

/** What is remembered of a conversation's work, to recognise calls made again and tests that pass at last. */
export interface WorkState {
  /** Hashes of its newest calls. */
  readonly calls: readonly string[];
  /** The newest test run failed. */
  readonly red: boolean;
}

/** An older call that is made again is not recognised. */
const MAX_CALLS = 100;

/** The counts of a request's work, and the state behind it. */
export function countWork(before: WorkState | undefined, facts: WorkFacts): readonly [WorkCounts, WorkState] {
  const calls = [...(before?.calls ?? [])];
  let red = before?.red ?? false;
  let callsAgain = 0;
  let turnedGreen = 0;
  for (const call of facts.calls) {
    if (calls.includes(call)) callsAgain++;
    else calls.push(call);
  }
  for (const outcome of facts.tests) {
    if (red && outcome === 'green') turnedGreen++;
    red = outcome === 'red';
  }
  const { userMessages, corrections, recoveries, edits, failedEdits } = facts;
  const redTests = facts.tests.filter((outcome) => outcome === 'red').length;
  const counts = { userMessages, corrections, recoveries, edits, failedEdits };
  return [
    { ...counts, calls: facts.calls.length, callsAgain, redTests, turnedGreen },
    { calls: calls.slice(-MAX_CALLS), red },
  ];
}
