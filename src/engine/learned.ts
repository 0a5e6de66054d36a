/**
 * Weights of a linear model of how likely a line is needed, by family and measure. Fitted (softmax over the lines of a
 * text, L2) to which lines commits changed, given their messages, in repositories other than those of any measure.
 */
export const LEARNED: Readonly<Record<'code' | 'docs' | 'log', Readonly<Record<string, number>>>> = {
  code: {
    raw: 0.75,
    near2: 1.21,
    near6: 1.02,
    near20: 0.9,
    near60: 0.17,
    rank: 0.17,
    phrase: 0.34,
    unit: -0.49,
    unitBest: 1.65,
    unitRank: -0.64,
    parent: 0.65,
    unitCover: 0.32,
    head: 0.63,
    kin: -0.86,
    kinUnit: 0.36,
    unitSize: -1.04,
    blank: -2.39,
    comment: -0.52,
    closer: 0.68,
    declares: -0.43,
    imports: 0.46,
    heading: -0.11,
    list: -0.7,
    length: 1.49,
    depthInUnit: 0.18,
    position: 0.2,
    rarity: 1.21,
  },
  docs: {
    raw: 0.7,
    near2: 0.15,
    near6: 1.33,
    near20: 0.8,
    near60: 0.84,
    rank: -0.61,
    phrase: 0.98,
    unit: 0.15,
    unitBest: 0.99,
    unitRank: -0.75,
    unitCover: 0.72,
    head: 0.4,
    kin: 0.41,
    kinUnit: -0.44,
    unitSize: -2.2,
    blank: -1.34,
    comment: 0.08,
    closer: 1.07,
    imports: 0.24,
    heading: 0.64,
    list: 0.24,
    length: 2.31,
    depthInUnit: -0.04,
    position: 0.27,
    rarity: 1.96,
  },
  log: {
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
  },
};

/** Turns weighted sums into shares up to a common factor; the largest becomes 1. */
export function soften(scores: Float64Array): Float64Array {
  let most = Number.NEGATIVE_INFINITY;
  for (const s of scores) if (s > most) most = s;
  return scores.map((s) => Math.exp(s - most));
}
