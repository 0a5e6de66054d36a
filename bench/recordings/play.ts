import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Replay, type ReplayTotals } from '@mcp-pruner/lab/replay/replay.ts';
import type { Recording } from './conversation.ts';

/** One of the third of all recordings that are looked at only when a rule is settled: told by a hash of its name. */
export function isUnseen({ name, group = name }: Pick<Recording, 'name' | 'group'>): boolean {
  return createHash('sha256').update(group).digest().readUInt32LE() % 3 === 0;
}

/** The recordings of files, one JSON line each. */
export async function* recordingsIn(paths: readonly string[]): AsyncGenerator<Recording> {
  for (const path of paths) {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      yield JSON.parse(line) as Recording;
    }
  }
}

/** Sends a recorded conversation as the growing requests of its agent. */
export async function play(replay: Replay, { messages }: Recording): Promise<void> {
  const answers = messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []));
  for (const at of answers) {
    const body = { model: 'm', messages: messages.slice(0, at) };
    const answer = { role: 'assistant', ...messages[at] };
    await replay.add(at === answers.at(-1) ? { body, answer } : { body });
  }
}

/** What replays came to in all. */
export function sumOf(totals: readonly ReplayTotals[]): ReplayTotals {
  const sum = new Replay({ rewrite: (body) => Promise.resolve(body), targetOf: () => ({ reads: false, path: '' }) })
    .totals;
  for (const one of totals) {
    for (const key of Object.keys(sum) as (keyof ReplayTotals)[]) {
      const value = one[key];
      if (typeof value === 'number') Object.assign(sum, { [key]: Number(sum[key]) + value });
    }
    for (const [use, { used, kept, visible }] of Object.entries(one.uses)) {
      const into = sum.uses[use as keyof ReplayTotals['uses']];
      into.used += used;
      into.kept += kept;
      into.visible += visible;
    }
  }
  return sum;
}
