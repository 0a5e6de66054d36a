import { sessionIn } from 'mcp-pruner/base/conversation-ids.ts';
import type { LedgerConversation, LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { ConversationsReport, ReportedConversation } from './conversations-report.ts';

const MAX_LISTED = 1_000;

/** The conversations since a day, those of a project if one is named. @throws StoreUnavailable */
export async function readConversations(
  store: LedgerStore,
  { sinceDay, project }: { readonly sinceDay: string; readonly project?: string | undefined },
): Promise<ConversationsReport> {
  const of = project === undefined ? {} : { project };
  const [conversations, sums] = await Promise.all([
    store.conversations({ ...of, sinceMs: Date.parse(sinceDay), limit: MAX_LISTED }),
    store.sums({ ...of, sinceDay, slice: 'failed' }),
  ]);
  const failed = new Map<string, number>();
  for (const sum of sums)
    failed.set(nameOf(sum.project, sum.key), sum.value + (failed.get(nameOf(sum.project, sum.key)) ?? 0));
  return {
    conversations: conversations.map((one) => listed(one, failed.get(nameOf(one.project, one.conversationId)) ?? 0)),
  };
}

function nameOf(project: string, conversation: string): string {
  return `${project}\n${conversation}`;
}

function listed(
  { conversationId: id, project, arm, turns, firstMs, lastMs, ...figures }: LedgerConversation,
  failed: number,
): ReportedConversation {
  const { dollars, dollarsWithout, output, regretTokens, compactions } = figures;
  return {
    ...{ id, project, session: sessionIn(id), arm, requests: turns + failed, turns },
    first: new Date(firstMs).toISOString(),
    last: new Date(lastMs).toISOString(),
    ...{ dollars, dollarsWithout, output, regretTokens, compactions },
  };
}
