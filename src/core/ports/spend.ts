/** Possible groupings of spend. */
export const SPENT_BY = ['key', 'project', 'model', 'day'] as const;
export type SpentBy = (typeof SPENT_BY)[number];

/** Spend since a day (UTC), of one project if it is named. */
export interface SpendQuery {
  readonly by: SpentBy;
  readonly sinceDay: string;
  readonly project?: string | undefined;
}

/** The spend of one key, project, model or day. */
export interface SpendRow {
  /** Key id, project, model or day. */
  readonly name: string;
  readonly requests: number;
  /** Requests of models without a price, which are missing from the dollars. */
  readonly unpriced: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly dollars: number;
  readonly dollarsWithout: number;
  /** `dollarsWithout - dollars`. */
  readonly saved: number;
  readonly removedTokens: number;
  /** Set for keys only. */
  readonly key?: KeyFacts;
}

export interface KeyFacts {
  /** `null` if the key is no longer in the store. */
  readonly name: string | null;
  readonly projects: readonly string[];
  readonly tokensPerDay: number | null;
  readonly tokensToday: number;
  readonly dollarsPerMonth: number | null;
  readonly dollarsThisMonth: number;
  readonly lastUsedMs: number | null;
}
