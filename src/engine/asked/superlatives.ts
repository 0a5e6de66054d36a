import { amountsIn, type Measure } from './amounts.ts';

/** What a goal asks of numbers: the largest, the smallest, or those beyond a limit. */
export interface NumberQuestion {
  readonly most: boolean;
  readonly least: boolean;
  /** What is compared, if the words say it: `slowest` are times, `largest file` are sizes. */
  readonly measure: Measure;
  /** How many rows are wanted (`top 5`). */
  readonly count: number;
  /** Limits of a comparison (`more than 500 ms`). */
  readonly limits: readonly Limit[];
}

export interface Limit {
  readonly above: boolean;
  readonly value: number;
  readonly measure: Measure;
}

/** What a goal asks of the order: the oldest, the newest, the first or the last of something. */
export interface OrderQuestion {
  readonly first: boolean;
  readonly last: boolean;
  /** The words behind `first` and `last`, in lower case; lines that hold one of them are meant. */
  readonly of: readonly string[];
}

/** A word on its own: not part of a compound or an identifier. */
const wholeWords = (words: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\d_.-])(?:${words})(?![\\p{L}\\d_-]|\\.\\p{L})`, 'iu');

const SLOW = wholeWords(
  'slowest|longest(?:[ -]running)?|laggiest|(?:le|la|les) plus (?:lente?s?|longue?s?|long)|(?:langsamste|längste)[nrsm]?|más (?:lent[oa]s?|larg[oa]s?)|mais (?:lent[oa]s?|long[oa]s?|demorad[oa]s?)|più (?:lent[oaie]|lung[oaie]?)|took (?:the )?(?:longest|most time)|took so long',
);
const FAST = wholeWords(
  'fastest|quickest|shortest|(?:le|la|les) plus (?:rapides?|courte?s?)|(?:schnellste|kürzeste)[nrsm]?|más (?:rápid[oa]s?|cort[oa]s?)|mais (?:rápid[oa]s?|curt[oa]s?)|più (?:veloc[ei]|brev[ei])',
);
const LARGE = wholeWords(
  'largest|biggest|heaviest|bulkiest|fattest|(?:most|so much) (?:space|disk|memory|ram)|(?:le|la|les) plus (?:gros(?:se)?s?|grande?s?|lourde?s?|volumineu(?:x|se)s?)|(?:größte|grösste|schwerste)[nrsm]?|más (?:grandes?|pesad[oa]s?)|mais (?:pesad[oa]s?)|più (?:grand[ei]|pesant[ei])',
);
const SMALL = wholeWords(
  'smallest|tiniest|lightest|(?:le|la|les) plus (?:petite?s?|légère?s?)|kleinste[nrsm]?|más (?:pequeñ[oa]s?|liger[oa]s?)|mais (?:pequen[oa]s?|leves?)|più (?:piccol[oaie])',
);
const MOST = wholeWords(
  `highest|greatest|most(?! of\\b| likely| probably| recent| important| relevant| common way)|maximum|maximal|max(?![(=_:])|peak(?:s|ed|ing)?|spik(?:e|es|ed|ing)|surg(?:e|es|ed)|outliers?|worst|costliest|priciest|busiest|hottest|fullest|deepest|top \\d{1,3}|top (?!of\\b|level|left|right|bar)\\p{L}+s|record high|jump(?:s|ed)|shot up|(?:le|la|les) plus (?:élevée?s?|haute?s?|chère?s?|cher)|le plus (?:de|d')|pic|pointe|maximale?|(?:höchste|meiste|teuerste|grösste)[nrsm]?|spitze(?:nwert)?|ausreißer|höchstwert|mayor(?:es)?|máxim[oa]s?|pico|más (?:alt[oa]s?|car[oa]s?)|maior(?:es)?|mais (?:alt[oa]s?|car[oa]s?)|maggior[ei]?|massim[oaie]|picco|più (?:alt[oaie]|car[oaie])`,
);
const LEAST = wholeWords(
  `lowest|least|fewest|minimum|minimal|min(?![(=_:])|cheapest|emptiest|coldest|dip(?:s|ped)?|trough|dropped|bottom \\d{1,3}|(?:le|la|les) plus (?:bas(?:se)?s?|faibles?)|le moins (?:de|d')?|minimale?|(?:niedrigste|wenigste|billigste|geringste)[nrsm]?|menor(?:es)?|mínim[oa]s?|más (?:baj[oa]s?|barat[oa]s?)|mais (?:baix[oa]s?|barat[oa]s?)|minor[ei]?|minim[oaie]|più (?:bass[oaie])`,
);
/** Phrases that contain a superlative and ask for none. */
const IDIOMS =
  /\bat (?:the )?(?:most|least|worst|max(?:imum)?|min(?:imum)?|last|first)\b|\bfor the most part\b|\b(?:first|last) of all\b|\bfirst(?:ly)?,|\b(?:last|first) (?:name|night|week|month|year|time i|step is)\b|\b(?:first|last) (?:\d+ )?(?:lines?|rows?|few|chars|characters|bytes|items|thing)\b|\bthe last (?:\d+ )?(?:seconds?|minutes?|hours?|days?|weeks?)\b/giu;
const COUNT =
  /\b(?:top|bottom|first|last|les|die|los|as)\s+(\d{1,3})\b|\b(\d{1,2})\s+(?:largest|biggest|slowest|longest|highest|most|smallest|fastest|lowest|heaviest|oldest|newest|plus|größten|langsamsten|más|mais)\b/iu;
const ABOVE =
  /(?:more than|greater than|higher than|larger than|bigger than|longer than|slower than|heavier than|older than|over|above|exceed(?:s|ed|ing)?|beyond|>=?|plus de|plus longs? que|supérieure?s? à|mehr als|über|länger als|größer als|más de|mayor(?:es)? (?:de|que|a)|mais de|maior(?:es)? que|acima de|più di)\s*$/iu;
const BELOW =
  /(?:less than|fewer than|lower than|smaller than|shorter than|faster than|cheaper than|under|below|<=?|moins de|inférieure?s? à|weniger als|unter|menos de|menor(?:es)? (?:de|que|a)|abaixo de|meno di)\s*$/iu;

const NO_LIMITS: readonly Limit[] = [];
/** Rows of each extreme that stay unless the goal says how many. Set by hand, like the next. */
const FEW = 3;
const MOST_ROWS = 50;

/** What a goal asks of numbers; `null` if nothing. */
export function numberQuestion(goal: string): NumberQuestion | null {
  const text = goal.replaceAll(IDIOMS, ' ');
  const [slow, fast, large, small] = [SLOW, FAST, LARGE, SMALL].map((pattern) => pattern.test(text));
  const most = slow || large || MOST.test(text);
  const least = fast || small || LEAST.test(text);
  const limits = /\d/.test(text) ? limitsIn(text) : NO_LIMITS;
  if (!most && !least && limits.length === 0) return null;
  const measure: Measure = slow || fast ? 'time' : large || small ? 'size' : '';
  const [, behind, before] = COUNT.exec(text) ?? [];
  const count = Math.min(MOST_ROWS, Number(behind ?? before ?? FEW) || FEW);
  return { most: most === true, least: least === true, measure, count, limits };
}

function limitsIn(text: string): Limit[] {
  return text.split('\n').flatMap((line) =>
    amountsIn(line).flatMap(({ value, measure, start }): Limit[] => {
      const before = line.slice(Math.max(0, start - 24), start);
      if (ABOVE.test(before)) return [{ above: true, value, measure }];
      return BELOW.test(before) ? [{ above: false, value, measure }] : [];
    }),
  );
}

const FIRST = wholeWords(
  `oldest|earliest|first|(?:le|la|les) plus (?:vieux|vieille|anciens?|anciennes?)|premiers?|premières?|(?:älteste|früheste|erste)[nrsm]?|más antigu[oa]s?|primer[oa]?s?|mais antig[oa]s?|primeir[oa]s?|più vecchi[oae]?|prim[oai]`,
);
const LAST = wholeWords(
  `newest|latest|most recent(?:ly)?|youngest|last|final|(?:le|la|les) plus récente?s?|derniers?|dernières?|(?:neueste|jüngste|letzte)[nrsm]?|más recientes?|últim[oa]s?|mais recentes?|più recent[ei]|ultim[oaie]`,
);
const BEHIND = new RegExp(
  `(?:${FIRST.source}|${LAST.source})(?:\\s\\d{1,3})?((?:\\s+[\\p{L}\\d_.-]{2,40}){1,4})`,
  'giu',
);

/** What a goal asks of the order in time or in the text; `null` if nothing. */
export function orderQuestion(goal: string): OrderQuestion | null {
  const text = goal.replaceAll(IDIOMS, ' ');
  const [first, last] = [FIRST.test(text), LAST.test(text)];
  if (!first && !last) return null;
  const of = [...text.matchAll(BEHIND)].flatMap(([, words = '']) => words.trim().toLowerCase().split(/\s+/));
  return { first, last, of };
}

/** Ages (`3 days ago`, a column of ages) grow the other way round. */
export function asNumbers({ first, last }: OrderQuestion): NumberQuestion {
  return { most: first, least: last, measure: 'time', count: FEW, limits: NO_LIMITS };
}
