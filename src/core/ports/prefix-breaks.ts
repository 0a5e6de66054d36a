/**
 * The key of a model or a conversation in the slice `prefix` of the ledger's sums. The ledger additionally writes keys
 * for single requests, with conversation, cause and message.
 */
export function prefixKeyOf(kind: 'model' | 'conversation', name: string): string {
  return `${kind}\t${name}`;
}

/** A request for which the provider reported a changed history. */
export interface PrefixBreak {
  readonly request_id: string;
  readonly conversation: string;
  /** Description of the difference from the previous request. */
  readonly changed: string;
}

/** Changed history reported by providers in a period. A request counts once. */
export interface PrefixBreakReport {
  /** Number of requests with such a report. */
  readonly reported: number;
  /** Answered requests on wires with bound history. */
  readonly requests: number;
  readonly models: readonly { readonly model: string; readonly reported: number; readonly requests: number }[];
  readonly conversations: readonly { readonly id: string; readonly reported: number }[];
  /** The first reports of each day, newest day first, at most 20. */
  readonly breaks: readonly PrefixBreak[];
}

/** One line for each known request with such a report. */
export function prefixBreakLines({ breaks }: Pick<PrefixBreakReport, 'breaks'>): string[] {
  return breaks.map(
    ({ request_id, conversation, changed }) => `request ${request_id}, conversation ${conversation}: ${changed}`,
  );
}

/** The summary line in the report, `doctor` and the page. */
export function prefixBreakLine({ reported, requests }: Pick<PrefixBreakReport, 'reported' | 'requests'>): string {
  const [breaks, all] = [reported, requests].map((count) => count.toLocaleString('en'));
  return `prefix breaks reported by the provider: ${breaks} of ${all} requests`;
}
