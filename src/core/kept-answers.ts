import type { KeptAnswers } from './ports/answers.ts';
import type { Records } from './ports/records.ts';

/** Name under which model answers are stored among the tool replies. */
const TOOL = 'model';

/**
 * Stores answers of models as tool replies, which expire after `ttlMs`. A reply is looked up by claiming its key; a
 * claim that succeeds means that there is none, and is released.
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
