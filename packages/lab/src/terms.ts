/**
 * Stop words for the baselines. Separate from the engine's word splitting, so that changes there do not affect the
 * baselines.
 */
const STOP = new Set(
  `a an and any are as at be been but by can cannot could did do does doing done for from get got had has have how i if
  in into is it its just let like make makes may me might more most must my need no not now of off on once one only or
  other our out over own same see shall should so some such than that the their them then there these they this those
  through to too under until up use used uses using very was we well were what when where which while who whom why will
  with would you your fix fixes fixed bug issue add added adds remove removed support instead also new when change
  changed changes ensure allow allows error code file line lines test tests le la les de du des un une et est pourquoi
  trouver dans ce cette find show want`.split(/\s+/),
);

const SUFFIXES = ['ations', 'ation', 'ings', 'ing', 'edly', 'ers', 'ies', 'ed', 'es', 'er', 'ly', 's'];

function stem(word: string): string {
  for (const suffix of SUFFIXES) {
    if (word.length - suffix.length >= 4 && word.endsWith(suffix)) return word.slice(0, -suffix.length);
  }
  return word;
}

const WORD = /[A-Za-z_][A-Za-z0-9_]*|\d{3,}/g;
const PART = /(?<![A-Z])[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+/g;
/** Longer runs are data, and `PART` looks ahead in runs of capitals. */
const MAX_WORD = 200;

/** Lower-case identifiers and their parts (camelCase, snake_case), lightly stemmed, without stop words. */
export function terms(text: string): string[] {
  const out: string[] = [];
  for (const word of text.match(WORD) ?? []) {
    if (word.length < 2 || word.length > MAX_WORD) continue;
    const lower = word.toLowerCase();
    if (STOP.has(lower)) continue;
    out.push(stem(lower));
    const parts = word.match(PART) ?? [];
    if (parts.length < 2) continue;
    for (const part of parts) {
      const lowerPart = part.toLowerCase();
      if (lowerPart.length > 2 && !STOP.has(lowerPart)) out.push(stem(lowerPart));
    }
  }
  return out;
}
