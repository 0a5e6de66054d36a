/** Languages of cut reasons. The contract's default is French. */
export const REASON_LANGUAGES = ['fr', 'en'] as const;
export type ReasonLanguage = (typeof REASON_LANGUAGES)[number];

type ReasonWord =
  | ('offFocus' | 'repeated' | 'repeatedShort' | 'passedTests' | 'stashed' | 'deleted' | 'alreadyShown')
  | ('lines' | 'here' | 'identical' | 'otherFile');

/** Reasons of cuts by language. Each is short, on one line, and without the marker's brackets. */
export const REASONS: Readonly<Record<ReasonLanguage, Readonly<Record<ReasonWord, string>>>> = {
  fr: {
    offFocus: 'hors focus',
    repeated: 'journal répétitif',
    repeatedShort: 'répétitif',
    passedTests: 'tests réussis',
    stashed: 'mis de côté',
    deleted: 'supprimé à la demande',
    alreadyShown: 'déjà montré',
    lines: 'lignes',
    here: 'ici',
    identical: 'identique',
    otherFile: 'autre fichier',
  },
  en: {
    offFocus: 'off focus',
    repeated: 'repetitive log',
    repeatedShort: 'repetitive',
    passedTests: 'passed tests',
    stashed: 'set aside',
    deleted: 'deleted on request',
    alreadyShown: 'already shown',
    lines: 'lines',
    here: 'here',
    identical: 'identical',
    otherFile: 'another file',
  },
};

/** Recovery hint that the first marker of a text appends to its reason. */
const HINT = /; source (?:intacte|is whole), [^;]*$/;

/** End of the reason of a repeat, after the name of the place that shows the same lines. */
const PLACE = /( \(autre fichier\))? lignes (\d{1,9}-\d{1,9})( \(ici \d{1,9}-\d{1,9}\))?, identique$/;

function placeInEnglish(reason: string): string {
  const { otherFile, lines, here, identical } = REASONS.en;
  return reason.replace(PLACE, (_, other: string | undefined, range: string, shift: string | undefined) => {
    const shifted = shift?.replace(REASONS.fr.here, here) ?? '';
    return `${other === undefined ? '' : ` (${otherFile})`} ${lines} ${range}${shifted}, ${identical}`;
  });
}

/** Converts a stored reason of any language to English, without the marker's hint. */
export function reasonInEnglish(stored: string): string {
  const reason = placeInEnglish(stored.replace(HINT, ''));
  for (const [key, words] of LONGEST_FIRST) {
    if (reason === words || reason.startsWith(`${words}:`) || reason.startsWith(`${words} `))
      return `${REASONS.en[key]}${reason.slice(words.length)}`;
  }
  return reason;
}

const LONGEST_FIRST = (Object.keys(REASONS.fr) as (keyof (typeof REASONS)['fr'])[])
  .map((key) => [key, REASONS.fr[key]] as const)
  .sort(([, a], [, b]) => b.length - a.length);
