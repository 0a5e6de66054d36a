/** The key of a model or a conversation in the slice `prefix` of the ledger's sums. */
export function prefixKeyOf(kind: 'model' | 'conversation', name: string): string {
  return `${kind}\t${name}`;
}

/** What providers reported about changed history in a period. A request counts once. */
export interface PrefixBreakReport {
  /** Requests with such a report. */
  readonly reported: number;
  /** Answered requests on wires with bound history. */
  readonly requests: number;
  readonly models: readonly { readonly model: string; readonly reported: number; readonly requests: number }[];
  readonly conversations: readonly { readonly id: string; readonly reported: number }[];
}

/** The line that the report, `doctor` and the page share. */
export function prefixBreakLine({ reported, requests }: Pick<PrefixBreakReport, 'reported' | 'requests'>): string {
  const [breaks, all] = [reported, requests].map((count) => count.toLocaleString('en'));
  return `prefix breaks reported by the provider: ${breaks} of ${all} requests`;
}
