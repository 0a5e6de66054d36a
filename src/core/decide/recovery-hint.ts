import { cleanReason, REASON_CHARS } from '../../engine/text/marker.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import type { Cut } from '../../engine/types.ts';

/**
 * How whoever reads a marker has its lines back. `tool`: the request offers `recover_text`. `shell`: it does not, but an
 * agent with a shell can run `mcp-pruner recover`.
 */
export type RecoveryHint = 'tool' | 'shell';

/**
 * Said once per text, for models take a marker for damage to the source and act on that. The prune id and the lines stand
 * in the marker already.
 */
const WORDS: Readonly<Record<ReasonLanguage, Readonly<Record<RecoveryHint, string>>>> = {
  fr: {
    tool: 'source intacte, lignes par recover_text',
    shell: 'source intacte, lignes par: mcp-pruner recover <prune_id> --lines a-b',
  },
  en: {
    tool: 'source is whole, lines by recover_text',
    shell: 'source is whole, lines by: mcp-pruner recover <prune_id> --lines a-b',
  },
};

/** Adds to the reason of the first cut that nothing is lost and how lines come back; what it says already gives way. */
export function addRecoveryHint(
  cuts: readonly Cut[],
  way: RecoveryHint,
  language: ReasonLanguage = 'fr',
): readonly Cut[] {
  const [first, ...others] = cuts;
  if (!first) return cuts;
  const words = WORDS[language][way];
  const reason = cleanReason(first.reason).slice(0, REASON_CHARS - words.length - 2);
  return [{ ...first, reason: `${reason}; ${words}` }, ...others];
}
