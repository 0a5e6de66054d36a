/** Possible groupings of spend. */
export const SPENT_BY = ['key', 'project', 'model', 'day'] as const;
export type SpentBy = (typeof SPENT_BY)[number];
