import type { Rule } from '../../engine/kinds/protection.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';

/**
 * The words in which one language explains why a region was kept or cut. `worth` and `limit` are passed in their final
 * format.
 */
export interface ReasonWords {
  /** Decimal separator of worths and limits. */
  readonly point: string;
  /** What each rule keeps. */
  readonly rules: Readonly<Record<Rule, string>>;
  /** Measures of the ranking: those of `LEARNED`. */
  readonly measures: Readonly<Record<string, string>>;
  readonly rule: (rule: Rule, words: string) => string;
  readonly worth: (worth: string) => string;
  /**
   * Kept by its worth.
   *
   * @param isWhole - every line of it reaches the limit, not only some
   */
  readonly relevant: (worth: string, limit: string, isWhole: boolean) => string;
  readonly below: (worth: string, limit: string) => string;
  readonly keptWithBlock: (worth: string) => string;
  readonly cutWithBlock: (worth: string, limit: string) => string;
  readonly markerTooExpensive: (worth: string) => string;
  readonly budget: (worth: string) => string;
  readonly whole: string;
  readonly deleted: string;
  readonly stashed: string;
  readonly unknownKept: string;
  readonly unknownCut: string;
  /** Parts that may follow; each begins with its separator. */
  readonly has: (terms: string) => string;
  readonly pro: (measures: string) => string;
  readonly contra: (measures: string) => string;
  readonly marked: (reason: string) => string;
}

const en: ReasonWords = {
  point: '.',
  rules: {
    '': '',
    'no-prune': 'between NO_PRUNE directives',
    frame: 'what the client put around the text',
    header: 'header of the file',
    import: 'imports stay',
    declaration: 'declarations stay',
    failure: 'reports a failure',
    news: 'rare in this log',
    named: 'contains a rare name that the goal mentions',
    trace: 'part of a stack trace',
    summary: 'summary of the run',
    edge: 'first or last line',
    heading: 'headings stay',
    fence: 'opens or closes a fenced block',
    id: 'contains an id that occurs nowhere else in the text',
    'diff-header': 'header of a diff',
    'file-spread': 'one line of each file that was found',
    structure: 'gives the text its structure',
    recovered: 'was recovered earlier in the conversation',
    state: 'its state is rare among the rows like it, or reports a failure',
    outlier: 'a number in it is far from those of the rows like it',
  },
  measures: {
    raw: "the goal's words in it",
    match: "the goal's words in it",
    near: "the goal's words around it",
    cover3: "how many of the goal's words are close to it",
    cover10: "how many of the goal's words are near it",
    cover40: "how many of the goal's words are in its surroundings",
    share: 'how much of the goal is near it',
    unit: "the goal's words in its block",
    unitBest: 'the best line of its block',
    parent: 'the block around its block',
    unitCover: 'how much of the goal its block covers',
    head: 'the line that opens its block',
    named: 'the goal names its block',
    beside: 'the neighbouring blocks',
    unitSize: 'the size of its block',
    unitMass: "the goal's words in a large block",
    blank: 'blank lines',
    comment: 'comments',
    closer: 'closing brackets',
    declares: 'declarations',
    imports: 'import lines',
    heading: 'headings',
    list: 'lists',
    length: 'the length of its lines',
    depthInUnit: 'its depth',
    position: 'its place in the text',
    top: 'its place at the top',
    end: 'its place at the end',
    seen: 'how often lines of this form occur',
    words: 'the number of its words',
    calls: 'calls in it',
    assigns: 'assignments in it',
    quotes: 'quoted text in it',
    digits: 'numbers in it',
    version: 'version numbers in it',
    link: 'links in it',
    tick: 'code marks in it',
    late: 'its place in the log',
    rarity: 'how rare its words are',
    hot: 'signs of trouble',
    heat1: 'signs of trouble around it',
    heat4: 'signs of trouble around it',
    heat12: 'signs of trouble around it',
    after: 'signs of trouble before it',
    opens: 'it begins a step in which trouble occurs',
    news: 'how rare its shape is',
    passed: 'reported successes',
    indent: 'its indentation',
  },
  rule: (rule, words) => `rule ${rule}: ${words}`,
  worth: (worth) => `worth ${worth}`,
  relevant: (worth, limit, isWhole) => `${worth}: ${isWhole ? '' : 'some of its lines '}at or above ${limit}`,
  below: (worth, limit) => `${worth}, below ${limit}`,
  keptWithBlock: (worth) => `${worth}, but its block can only be cut as a whole, and is kept`,
  cutWithBlock: (worth, limit) => `${worth}, at or above ${limit}, but it is cut with the block around it`,
  markerTooExpensive: (worth) => `${worth}, but a marker would cost more than cutting it saves`,
  budget: (worth) => `${worth}, but the limits allow no further cuts`,
  whole: 'the text was left whole',
  deleted: 'deleted on request',
  stashed: 'stashed as a whole, on request or because of the token budget',
  unknownKept: 'not cut; no rule keeps it',
  unknownCut: 'cut; its score is not known',
  has: (terms) => `; has ${terms}`,
  pro: (measures) => `; for it: ${measures}`,
  contra: (measures) => `; against it: ${measures}`,
  marked: (reason) => `; marked "${reason}"`,
};

const fr: ReasonWords = {
  point: ',',
  rules: {
    '': '',
    'no-prune': 'entre des directives NO_PRUNE',
    frame: 'ce que le client a mis autour du texte',
    header: 'en-tête du fichier',
    import: 'les imports restent',
    declaration: 'les déclarations restent',
    failure: 'signale un échec',
    news: 'rare dans ce journal',
    named: "contient un nom rare que l'objectif cite",
    trace: "fait partie d'une pile d'appels",
    summary: "résumé de l'exécution",
    edge: 'première ou dernière ligne',
    heading: 'les titres restent',
    fence: 'ouvre ou ferme un bloc délimité',
    id: "donne un identifiant que rien d'autre ne nomme",
    'diff-header': "en-tête d'un diff",
    'file-spread': 'une ligne de chaque fichier trouvé',
    structure: 'tient le reste ensemble',
    recovered: 'a déjà été récupérée dans la conversation',
    state: 'son état est rare parmi les lignes semblables, ou signale un échec',
    outlier: 'un de ses nombres est loin de ceux des lignes semblables',
  },
  measures: {
    raw: "les mots de l'objectif qu'elle contient",
    match: "les mots de l'objectif qu'elle contient",
    near: "les mots de l'objectif autour d'elle",
    cover3: "le nombre de mots de l'objectif tout près",
    cover10: "le nombre de mots de l'objectif à proximité",
    cover40: "le nombre de mots de l'objectif aux alentours",
    share: "la part de l'objectif à proximité",
    unit: "les mots de l'objectif dans son bloc",
    unitBest: 'la meilleure ligne de son bloc',
    parent: 'le bloc autour de son bloc',
    unitCover: "la part de l'objectif dans son bloc",
    head: 'la ligne qui ouvre son bloc',
    named: "l'objectif nomme son bloc",
    beside: 'les blocs voisins du sien',
    unitSize: 'la taille de son bloc',
    unitMass: "les mots de l'objectif dans un grand bloc",
    blank: 'les lignes vides',
    comment: 'les commentaires',
    closer: 'les crochets fermants',
    declares: 'les déclarations',
    imports: "les lignes d'import",
    heading: 'les titres',
    list: 'les listes',
    length: 'la longueur de ses lignes',
    depthInUnit: 'sa profondeur',
    position: 'sa place dans le texte',
    top: 'sa place en haut',
    end: 'sa place à la fin',
    seen: 'la fréquence de sa forme',
    words: 'le nombre de ses mots',
    calls: 'ses appels',
    assigns: 'ses affectations',
    quotes: 'son texte entre guillemets',
    digits: 'ses nombres',
    version: 'ses numéros de version',
    link: 'ses liens',
    tick: 'ses marques de code',
    late: 'sa place dans le journal',
    rarity: 'la rareté de ses mots',
    hot: 'des signes de problème',
    heat1: "des signes de problème autour d'elle",
    heat4: "des signes de problème autour d'elle",
    heat12: "des signes de problème autour d'elle",
    after: 'des signes de problème avant elle',
    opens: 'elle ouvre une étape avec un problème',
    news: 'la rareté de sa forme',
    passed: 'des succès signalés',
    indent: 'son indentation',
  },
  rule: (rule, words) => `règle ${rule} : ${words}`,
  worth: (worth) => `valeur ${worth}`,
  relevant: (worth, limit, isWhole) =>
    `${worth} : ${isWhole ? 'pas' : 'certaines de ses lignes ne sont pas'} au-dessous de ${limit}`,
  below: (worth, limit) => `${worth}, au-dessous de ${limit}`,
  keptWithBlock: (worth) => `${worth}, mais son bloc part en entier ou pas du tout, et il reste`,
  cutWithBlock: (worth, limit) => `${worth}, pas au-dessous de ${limit}, mais elle part avec le bloc qui l'entoure`,
  markerTooExpensive: (worth) => `${worth}, mais un marqueur coûterait plus que la coupe n'économise`,
  budget: (worth) => `${worth}, mais les limites ne laissent plus partir de lignes`,
  whole: 'le texte est resté entier',
  deleted: 'supprimé à la demande',
  stashed: 'mis de côté en entier, à la demande ou par le budget',
  unknownKept: 'pas coupé ; aucune règle ne le garde',
  unknownCut: "coupé ; aucune valeur n'en est connue",
  has: (terms) => ` ; contient ${terms}`,
  pro: (measures) => ` ; pour : ${measures}`,
  contra: (measures) => ` ; contre : ${measures}`,
  marked: (reason) => ` ; marqué « ${reason} »`,
};

export const REASON_WORDS: Readonly<Record<ReasonLanguage, ReasonWords>> = { fr, en };
