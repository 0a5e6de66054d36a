import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import { keyOf, pruneIdOf } from '../hash.ts';
import type { Decision, NewDecision } from '../ports.ts';
import type { FoundText } from './found-text.ts';
import type { ReadRequest } from './request.ts';

/** The line in front of a result. It is no marker, so that nothing takes it for one. */
const NOTICES: Readonly<Record<ReasonLanguage, string>> = {
  fr: "⟦PRUNÉ: attention: un appel a écrit un marqueur dans un fichier; les lignes qu'il remplace y manquent: les récupérer par recover_text, puis les réécrire⟧",
  en: '⟦PRUNED: warning: a call wrote a marker into a file; the lines that it stands for are missing there: recover them with recover_text and write them⟧',
};
/** A cut must save at least so much more than the line costs, in tokens. */
const SPARE_TOKENS = 10;

/**
 * Puts a warning in front of the first result that is cut after the model wrote a marker into a file. It is part of the
 * decision about that result, so that it is replayed with its cuts. A result that stays whole, or whose cuts save less
 * than the line costs, stays as it is, and the next one gets the line.
 *
 * @param texts - texts that were decided now, in order
 * @param decisions - all decisions of the request; those with the warning are replaced
 * @returns the new decisions
 */
export function warnOnce(
  { read }: Pick<ReadRequest, 'read'>,
  texts: readonly FoundText[],
  decisions: Map<FoundText, Decision>,
): NewDecision[] {
  const made: NewDecision[] = [];
  for (const text of texts) {
    const { warnsSince, job } = text;
    const decision = decisions.get(text);
    if (warnsSince === undefined || decision === undefined || job.cutWhole !== undefined) continue;
    const warned = withNotice(decision, NOTICES[job.reasonLanguage ?? 'fr']);
    if (warned === null || isWarned(read, decisions, warnsSince)) continue;
    decisions.set(text, warned);
    read.conversation.warned();
    made.push({ decision: warned, text: job.text });
  }
  return made;
}

/** Whether a result after a message carries the warning. */
function isWarned(
  { outcomesBefore }: ReadRequest['read'],
  decisions: ReadonlyMap<FoundText, Decision>,
  since: number,
): boolean {
  if (outcomesBefore.some(({ warned, messageIndex }) => warned === true && messageIndex > since)) return true;
  for (const [text, { notice }] of decisions) if (notice !== undefined && text.messageIndex > since) return true;
  return false;
}

function withNotice(decision: Decision, notice: string): Decision | null {
  const { cuts, key, tokensBefore, tokensAfter } = decision;
  const tokens = estimateTokens(`${notice}\n`);
  if (cuts.length === 0 || tokensAfter + tokens + SPARE_TOKENS >= tokensBefore) return null;
  const own = keyOf('notice', key, notice);
  return { ...decision, key: own, pruneId: pruneIdOf(own), tokensAfter: tokensAfter + tokens, notice };
}
