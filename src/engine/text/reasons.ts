/** Languages in which the reason of a cut can be written. French is the contract's. */
export const REASON_LANGUAGES = ['fr', 'en'] as const;
export type ReasonLanguage = (typeof REASON_LANGUAGES)[number];

/** The reasons of cuts by language. Each is short, on one line, and without the marker's brackets. */
export const REASONS: Readonly<
  Record<
    ReasonLanguage,
    Readonly<Record<'offFocus' | 'repeated' | 'repeatedShort' | 'passedTests' | 'stashed' | 'deleted', string>>
  >
> = {
  fr: {
    offFocus: 'hors focus',
    repeated: 'journal répétitif',
    repeatedShort: 'répétitif',
    passedTests: 'tests réussis',
    stashed: 'mis de côté',
    deleted: 'supprimé à la demande',
  },
  en: {
    offFocus: 'off focus',
    repeated: 'repetitive log',
    repeatedShort: 'repetitive',
    passedTests: 'passed tests',
    stashed: 'set aside',
    deleted: 'deleted on request',
  },
};
