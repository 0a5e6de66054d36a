import type { MissCause } from './ledger.ts';

/** The key of a model, a conversation or a request in the slice `prefix` of the ledger's sums. */
export function prefixKeyOf(kind: 'model' | 'conversation' | 'request', ...names: readonly string[]): string {
  return [kind, ...names].join('\t');
}

/** A request for which the provider reported a changed history. */
export interface PrefixBreak {
  readonly request_id: string;
  readonly conversation: string;
  /** In words: what differs from the request before. */
  readonly changed: string;
}

/** @param at - index of the changed message; -1: none */
export function changedWords(cause: MissCause, at: number): string {
  const message = at < 0 ? 'a message' : `message ${at}`;
  if (cause === 'changed_by_us') return `${at < 0 ? 'the tools' : message} went out with other cuts than before`;
  if (cause === 'message_changed') return `the client changed ${message}`;
  if (cause === 'tools_changed') return 'the client changed its tools';
  if (cause === 'system_changed') return 'the client changed its system prompt';
  if (cause === 'model_changed') return 'another model was asked';
  const isKnown = cause === 'expired' || cause === 'unknown';
  return isKnown ? 'nothing that this proxy knows of' : 'the request before it is not known';
}

/** What providers reported about changed history in a period. A request counts once. */
export interface PrefixBreakReport {
  /** Requests with such a report. */
  readonly reported: number;
  /** Answered requests on wires with bound history. */
  readonly requests: number;
  readonly models: readonly { readonly model: string; readonly reported: number; readonly requests: number }[];
  readonly conversations: readonly { readonly id: string; readonly reported: number }[];
  /** The first of them of each day, newest day first, at most 20. */
  readonly breaks: readonly PrefixBreak[];
}

/** One line for each known request with such a report. */
export function prefixBreakLines({ breaks }: Pick<PrefixBreakReport, 'breaks'>): string[] {
  return breaks.map(
    ({ request_id, conversation, changed }) => `request ${request_id}, conversation ${conversation}: ${changed}`,
  );
}

/** The line that the report, `doctor` and the page share. */
export function prefixBreakLine({ reported, requests }: Pick<PrefixBreakReport, 'reported' | 'requests'>): string {
  const [breaks, all] = [reported, requests].map((count) => count.toLocaleString('en'));
  return `prefix breaks reported by the provider: ${breaks} of ${all} requests`;
}
