import type { ProjectConversation, StoredConversation } from '../core/ports/segments.ts';

/** A row of `conversation`, the same in every store, with its texts as they were given. */
export interface ConversationRow {
  readonly id: number;
  readonly project: string;
  readonly name: string;
  readonly task: string;
  readonly turns: number;
  readonly base_turn: number;
  readonly messages: number;
  readonly seen_ms: number;
}

export function conversationOf(row: ConversationRow): StoredConversation {
  return {
    row: row.id,
    name: row.name,
    task: row.task,
    turns: row.turns,
    baseTurn: row.base_turn,
    messages: row.messages,
    seenMs: row.seen_ms,
  };
}

export function withProject(row: ConversationRow): ProjectConversation {
  return { ...conversationOf(row), project: row.project };
}
