/** Finished work of conversations, and the compactions made at seams, as in `report --json`. */
export interface SeamsReport {
  readonly seams: {
    /** Dollars of the period that repeated finished work. */
    readonly weight_usd: number;
    /** Finished work at the newest seam of each conversation, largest first, at most 100. */
    readonly conversations: readonly {
      readonly id: string;
      readonly weight_tokens: number;
      /** Dollars of one more request; `null` without a price. */
      readonly price_usd: number | null;
    }[];
  };
}
