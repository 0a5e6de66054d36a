import { WordAutomaton } from '../../rules/word-automaton.ts';

/**
 * Failure words in English and in the languages that tools are most often translated to (French, German, Spanish,
 * Italian, Portuguese, Russian, Chinese, Japanese).
 */
const FAILED = [
  'fail(?:ed|ing|ures?|s)?|errors?|errored|fatal|critical|panic(?:ked)?|crash(?:ed|ing)?|segfault',
  '\\w{0,30}BackOff|ErrIm\\w{1,40}|OOM ?Killed|Evicted|Exited \\([1-9]\\d{0,3}\\)',
  '(?:not|un) ?(?:ready|healthy|available|reachable|responsive|synced|met|verified)|not-ready|degraded|impaired|offline|down',
  'out ?of ?(?:sync|date|space|memory)|missing|lost|corrupt(?:ed)?|inconsistent|broken|invalid|aborted|killed',
  'rejected|refused|denied|forbidden|unauthorized|expired|revoked|breached|timed[ -]?out|timeout|conflict(?:s|ing)?',
  'unmerged|both (?:modified|added|deleted)|deleted by (?:us|them)|diverged|vulnerable|overdue|orphaned|unschedulable',
  'insufficient|exceeded|exhausted|faulted|suspect|rolled ?back|\\w{0,40}rollback\\w{0,40}',
  '\\w{1,40}(?:Failed|Failure|Error|Killed|Timeout|Exceeded|Expired|Degraded|Unavailable|Unhealthy|_DENIED|_MISSING)',
  '(?:\\w{0,40}_)?(?:FAILED|ERROR|FAILURE)(?:_\\w{0,40})?',
  'échecs?|échoué(?:e?s?)?|erreurs?|introuvable|fehler|fehlgeschlagen|gescheitert|abgebrochen|ungültig|abgelaufen',
  'fall(?:o|ó|ido|ida)|errore|inválid[oa]|caducad[oa]|rechazad[oa]|fallit[oaie]|scadut[oa]|rifiutat[oa]|interrott[oa]',
  'falh(?:a|as|ou)|erros?|expirad[oa]|recusad[oa]|indisponível',
  '(?:gone|entfernt|disparue?|desaparecid[oa]|desaparecido|ausente|sparit[oa]|исчез\\p{L}{0,4}|丢失|消滅|不在)\\]',
].join('|');
/** Words for an unfinished or unusual state. They matter only if few rows have one. */
const UNFINISHED = [
  'pending|waiting|queued|\\w{0,20}creating|provisioning|terminating|starting|stopping|restarting|updating|rebooting',
  'in[ _-]?progress|\\w{0,20}progressing|\\w{0,20}initiali[sz]ing|Init:\\d+/\\d+|unknown|blocked|stalled|stuck|paused|suspended',
  'draining|SchedulingDisabled|inactive|stopped|dead|exited|disabled|skipped|ignored|cancell?ed|stale|missed|deprecated|yanked',
  'warn(?:ings?)?|unstable|flaky|locked|hold|held|detached|recovering|rebuilding|partial|incomplete|\\w{1,40}(?:Pending|_IN_PROGRESS)',
  'destroyed|replaced|reverted|ausstehend|wartend|en attente|in attesa|pendiente|pendente',
].join('|');
/** Failure words in scripts without word boundaries, Russian words with endings, and signs. */
const WITHOUT_BOUNDS = '(?:ошибк|сбой|неудач|отказ|失败|失敗|错误|錯誤|エラー|異常|✗|✖|✕|❌)';

/** Matches whole words only, not parts of paths, addresses or names, and not with a count of 0. */
function wholeWords(words: string): string {
  const before = '(?<![\\p{L}\\d_./@%-])(?<!\\b(?:0|no) )';
  const behind = '(?![\\p{L}\\d_/@(-]|\\.[\\p{L}\\d/]|\\s?[=:]\\s?(?:0|none|nil|null|false)\\b)';
  return `${before}(?:${words})${behind}`;
}

const FAILURE = new RegExp(`${wholeWords(FAILED)}|${WITHOUT_BOUNDS}`, 'iu');
const UNFINISHED_STATE = new RegExp(wholeWords(UNFINISHED), 'iu');

/** Fragments of the words above, for a quick check before the patterns are tried. */
const PIECES = [
  'fail fallo falló falli fehl falh error erreur errored errato errata errim fatal critical panic crash segf backoff oom',
  'evict exited degrad impair offline down missing lost corrupt incons broken valid abort killed reject refused denied',
  'forbid expir revok breach timed timeout conflict both deleted diverg vulner overdue orphan insuff exceed exhaust fault',
  'suspect roll rollback échec échou introuv gescheit abge ungült caducad rechaz scadut rifiut interrott recusad indispon',
  'unread unhealth unavail unreach unrespon unsync unmet unverif unknown unstable unmerg unauthor unschedul outof',
  'notready nothealth not-ready notavail notreach notrespon notsync notmet notverif pending waiting queued creating',
  'provision terminat starting stopp updating rebooting progress initial init: blocked stalled stuck paused suspend draining',
  'schedulingdis inactive dead disabled skipped ignored cancel stale missed deprec yanked warn flaky locked hold held detach',
  'recover rebuild destroyed replaced revert partial incomplete ausst wartend pendiente pendente ошиб сбой неуд отказ 失 错',
  '錯 エラー 異 ✗ ✖ ✕ ❌ gone] entfernt] disparu desaparecid ausente] sparit исчез 丢失] 消滅] 不在]',
].flatMap((line) => line.split(' '));
/** Fragments of the phrases above. */
const PHRASES =
  'not ready,not healthy,not available,not reachable,not responsive,not synced,not met,not verified,out of,time-out,en attente,in attesa,un ready'.split(
    ',',
  );
const pieces = new WordAutomaton([...PIECES, ...PHRASES].map((piece) => [piece, 1]));

/** Classes of states that the words of a row can express. */
export const NOTHING = 0;
export const UNFINISHED_ROW = 1;
export const FAILED_ROW = 2;

/** The state expressed by the words of a row in `[start, end)` of a text. */
export function stateOf(text: string, codes: Uint16Array, start: number, end: number): 0 | 1 | 2 {
  if (pieces.scan(codes, start, end) === 0) return NOTHING;
  const row = text.slice(start, end);
  if (FAILURE.test(row)) return FAILED_ROW;
  return UNFINISHED_STATE.test(row) ? UNFINISHED_ROW : NOTHING;
}
