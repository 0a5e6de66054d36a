import { LinePattern } from '../../rules/matcher.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';

/**
 * Messages of git, the shell, make and the C library as their translations print them: German, French, Spanish,
 * Portuguese, Italian, Polish, Dutch, Turkish. Words that English shares are missing. Not a row of a log format,
 * because one automaton cannot hold so many words. Letters with an accent stand in both cases, because
 * the quick check of a line compares them as they are.
 */
const GERMANIC = new LinePattern(
  /konflikt|keine berechtigung|verweigert|nicht gefunden|\bfehler\b|fehlgeschlagen|schwerwiegend|kein speicherplatz|zur[üÜ]ckgewiesen|abgelehnt|abgebrochen|zugriffsfehler|\bk(?:ann|onnte) nicht\b|brak dost[ęĘ]pu|odmowa dost[ęĘ]pu|nie ma takiego|nie znaleziono|b[łŁ][ąĄ]d|odrzucon|niepowodzenie|toegang geweigerd|niet gevonden|bestaat niet|mislukt|[çÇ]ak[ıI][şŞ]ma|izin verilmedi|bulunamad|ba[şŞ]ar|reddedildi/i,
);
const ROMANCE = new LinePattern(
  /conflit|permission non accord|non autoris|aucun fichier|introuvable|erreur|[éÉ]chec|[éÉ]chou[éÉ]|refus[éÉ]|rejet[éÉ]|aucun espace|\bimpossible d|conflicto|denegad|no existe|no encontrad|rechazad|rehusad|no queda espacio|no se pud|no se puede|fall[óÓ]|violaci[óÓ]n de segmento|conflito|negad[oa]\b|inexistente|n[ãÃ]o encontrad|\berro\b|falhou|\bfalha\b|rejeitad|recusad|n[ãÃ]o h[áÁ] espa[çÇ]o|n[ãÃ]o foi poss|n[ãÃ]o pode|conflitto|negat[oa]\b|non esist|non trovat|errore|fallit|rifiutat|esaurit|impossibile/i,
);
/** The same in Russian, Chinese, Japanese and Korean. */
const BEYOND_LATIN =
  /конфликт|отказано|нет такого|не найден|ошибк|не удалось|отклонен|сбой|не осталось|невозможно|冲突|衝突|权限不够|拒绝|没有那个|未找到|找不到|错误|失败|没有空间|无法|競合|許可がありません|ディレクトリはありません|見つかりません|エラー|失敗|拒否|できません|領域がありません|충돌|거부|찾을 수 없|없습니다|오류|실패/i;
/** The first code behind the Latin and Greek letters. */
const CYRILLIC = 0x400;
/** Maximum number of characters read per line. Set by hand. */
const READ_CHARS = 400;

/** Whether a line reports a failure in a language other than English. */
export function failsInTranslation(view: View, i: number): boolean {
  if (isBlankLine(view, i)) return false;
  if (GERMANIC.fits(view, i, READ_CHARS) || ROMANCE.fits(view, i, READ_CHARS)) return true;
  const start = view.firstNonBlank[i] ?? 0;
  const end = Math.min(view.to[i] ?? 0, start + READ_CHARS);
  for (let at = start; at < end; at++)
    if ((view.codes[at] ?? 0) >= CYRILLIC) return BEYOND_LATIN.test(contentOf(view, i, READ_CHARS));
  return false;
}
