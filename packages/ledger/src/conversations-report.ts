import type { Arm } from 'mcp-pruner/core/ports/ledger.ts';

/** A conversation in `report --json`. */
export interface ReportedConversation {
  /** The shown id. */
  readonly id: string;
  readonly project: string;
  /** Hash of the client's session; `''` if the client named none. */
  readonly session: string;
  readonly arm: Arm;
  /** All requests, those without an answer included. */
  readonly requests: number;
  /** Requests with an answer. */
  readonly turns: number;
  /** ISO 8601. */
  readonly first: string;
  readonly last: string;
  readonly dollars: number;
  readonly dollarsWithout: number;
  readonly output: number;
  readonly regretTokens: number;
  readonly compactions: number;
}

export interface ConversationsReport {
  /** The newest first. */
  readonly conversations: readonly ReportedConversation[];
}
