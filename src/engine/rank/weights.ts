import type { Circumstances } from './features.ts';

/** A linear model of how likely a line is needed: weights by feature name. */
export interface ProseWeights {
  /** Weights of matches with the goal in and around a line. */
  readonly matches: Readonly<Record<string, number>>;
  /** Weights of properties of the line itself. */
  readonly nature: Readonly<Record<string, number>>;
  /** The logarithm of a group's factor, as a function of the text's circumstances. */
  readonly trustInMatches: Trust;
  readonly trustInNature: Trust;
}

/** Weights of the circumstances, and a constant term. */
type Trust = Readonly<Record<keyof Circumstances | 'always', number>>;

/**
 * Fitted (softmax over the lines of a text, L2) to predict, from commit messages, the lines that 9,638 commits changed
 * in code files and 2,673 in documents. None of their repositories is used for measuring quality. Those commits are no
 * longer available; `bench -- fit` fits the same model to other commits and compares both on held-out cases
 * (`docs/quality.md`).
 */
export const CODE_WEIGHTS: ProseWeights = {
  matches: {
    raw: 0.89,
    cover3: 1.54,
    cover10: 0.47,
    cover40: 1.38,
    share: 0.07,
    unit: -0.21,
    unitBest: 0.64,
    parent: 1.1,
    unitCover: -0.25,
    head: 0.37,
    named: 0.86,
    beside: 0.11,
    unitMass: 1.07,
  },
  nature: {
    unitSize: -1.05,
    blank: -2.87,
    comment: -0.46,
    closer: 0.75,
    declares: -0.45,
    imports: 0.49,
    heading: -0.23,
    list: -0.49,
    length: 1.79,
    depthInUnit: 0.17,
    position: -0.19,
    top: -0.08,
    end: 1.18,
    seen: -0.81,
    words: -1.16,
    calls: 0.28,
    assigns: 0.06,
    quotes: 0.15,
    digits: 0.14,
    version: 0.03,
    link: 0.22,
    tick: -0.03,
    rarity: 0.79,
  },
  trustInMatches: {
    always: -1.47,
    found: 0.83,
    together: 0.19,
    length: 0.67,
    blocks: 0.05,
    terms: 0.86,
  },
  trustInNature: {
    always: -0.1,
    found: -0.06,
    together: 0.12,
    length: 0.02,
    blocks: 0.09,
    terms: 0.01,
  },
};

/** The same for documents. */
export const DOCS_WEIGHTS: ProseWeights = {
  matches: {
    raw: 0.94,
    cover3: 1.03,
    cover10: 0.69,
    cover40: 0.92,
    share: 0.84,
    unit: 0.32,
    unitBest: 0.35,
    unitCover: -0.33,
    head: 0.51,
    named: -0.13,
    beside: 0.62,
    unitMass: 1.02,
  },
  nature: {
    unitSize: -1.94,
    blank: -1.15,
    comment: 0.24,
    closer: 0.87,
    heading: 0.53,
    length: 0.89,
    depthInUnit: 0.15,
    position: -0.64,
    top: -0.6,
    end: 1.45,
    seen: -1.25,
    words: 0.31,
    calls: 0.18,
    assigns: 0.23,
    digits: 0.17,
    version: 0.52,
    link: 0.25,
    tick: 0.12,
    rarity: 1.36,
  },
  trustInMatches: {
    always: -0.88,
    found: 0.62,
    together: -0.09,
    length: 0.39,
    blocks: 0.24,
    terms: 0.41,
  },
  trustInNature: {
    always: -0.09,
    found: -0.06,
    together: 0.11,
    length: 0.05,
    blocks: 0.05,
    terms: -0.01,
  },
};

/**
 * Weights of log line features, fitted to labelled failures, and set by hand where the labels provide no evidence.
 * `bench -- fit --kind log <cases.jsonl>` fits them to others.
 */
export const LOG_WEIGHTS: Readonly<Record<string, number>> = {
  hot: 0.86,
  heat1: 1.06,
  heat4: 1.08,
  heat12: 1.38,
  after: 0.71,
  opens: 2,
  near: 1,
  match: 1,
  news: 0.3,
  passed: -0.5,
  late: 1.23,
  indent: 1.03,
  length: 0.71,
};
