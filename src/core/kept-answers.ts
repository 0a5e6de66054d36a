import type { KeptAnswers } from './ports/answers.ts';
import type { Records } from './ports/records.ts';

/** Name under which model answers are stored among the tool replies. */
const TOOL = 'model';

/**
 * Stores answers of models as tool replies, which expire after `ttlMs`. Answers contain user text, so their keys begin
 * with the project, like the keys of other replies, and an erasure finds them. `Records` has no look-up of replies, so
 * a key is claimed instead: if the claim succeeds, there is no reply, and the claim is released.
 */
export function keptAnswers(
  records: Pick<Records, 'claimReply' | 'keepReply' | 'dropReply'>,
  ttlMs: number,
): KeptAnswers {
  return {
    async find(project, id) {
      const key = keyOf(project, id);
      const kept = await records.claimReply(TOOL, key, '', ttlMs);
      if (kept === null) await records.dropReply(TOOL, key, false);
      return kept?.text ?? null;
    },
    async keep(project, id, text) {
      await records.keepReply(TOOL, keyOf(project, id), '', text, ttlMs);
    },
  };
}

function keyOf(project: string, id: string): string {
  return `${project}\n${id}`;
}
