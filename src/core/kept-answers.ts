import type { KeptAnswers } from './ports/answers.ts';
import type { Records } from './ports/records.ts';

/** Name under which model answers are stored among the tool replies. */
const TOOL = 'model';

/**
 * Stores answers of models as tool replies, which expire after `ttlMs`. `Records` has no look-up of replies, so a key
 * is claimed instead: if the claim succeeds, there is no reply, and the claim is released.
 */
export function keptAnswers(
  records: Pick<Records, 'claimReply' | 'keepReply' | 'dropReply'>,
  ttlMs: number,
): KeptAnswers {
  return {
    async find(id) {
      const kept = await records.claimReply(TOOL, id, '', ttlMs);
      if (kept === null) await records.dropReply(TOOL, id, false);
      return kept?.text ?? null;
    },
    async keep(id, text) {
      await records.keepReply(TOOL, id, '', text, ttlMs);
    },
  };
}
