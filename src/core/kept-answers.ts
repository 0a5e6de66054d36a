import type { KeptAnswers } from './ports/answers.ts';
import type { Records } from './ports/records.ts';

/** Their key, next to those of tool answers. */
const TOOL = 'model';

/** Answers of models in the store, for as long as those of tools. */
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
