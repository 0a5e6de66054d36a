/**
 * Weights of a linear model of how likely a line is needed, by family and measure. Fitted (softmax over the lines of a
 * text, L2) to which lines commits changed, given their messages, in repositories other than those of any measure.
 */
export const LEARNED: Readonly<Record<'code' | 'docs' | 'log', Readonly<Record<string, number>>>> = {
  code: {
    raw: 0.68,
    near2: 1.13,
    near6: 0.95,
    near20: 0.88,
    near60: 0.24,
    rank: 0.1,
    phrase: 0.37,
    unit: -0.41,
    unitBest: 1.59,
    unitRank: -0.46,
    parent: 0.78,
    unitCover: 0.33,
    head: 0.58,
    kin: -0.83,
    kinUnit: 0.28,
    unitSize: -1.16,
    blank: -2.39,
    comment: -0.5,
    closer: 0.67,
    declares: -0.41,
    imports: 0.48,
    heading: -0.15,
    list: -0.69,
    length: 1.53,
    depthInUnit: 0.25,
    position: 0.19,
    rarity: 1.2,
  },
  docs: {
    raw: 0.7,
    near2: 0.13,
    near6: 1.28,
    near20: 0.86,
    near60: 0.86,
    rank: -0.64,
    phrase: 1.0,
    unit: 0.14,
    unitBest: 0.84,
    unitRank: -0.63,
    unitCover: 0.76,
    head: 0.41,
    kin: 0.44,
    kinUnit: -0.46,
    unitSize: -2.17,
    blank: -1.35,
    comment: 0.08,
    closer: 1.06,
    heading: 0.63,
    list: 0.23,
    length: 2.3,
    depthInUnit: -0.03,
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
