import type { ProjectConversation, SegmentStore, StoredSegment } from '../core/ports/segments.ts';
import type { Store } from '../core/ports.ts';
import { readProjectKey } from '../core/segments/immutable-history-project.ts';
import { stashId } from '../core/segments/text-segments.ts';
import { PrunerError } from '../errors.ts';
import type { ConversationPage, ConversationShown, CutShown, TextOfTurn } from './shapes.ts';

export interface ConversationParts {
  readonly segments: SegmentStore;
  readonly store: Pick<Store, 'findPrune'>;
  /** Writes what requests showed and is not written yet. */
  readonly flush: () => Promise<void>;
}

const CONVERSATIONS_OF_A_PAGE = 50;
const TEXTS_OF_A_PAGE = 100;

/** Conversations, the one seen last first. @throws StoreUnavailable */
export async function conversationsFrom(
  { segments, flush }: ConversationParts,
  after: { readonly seenMs: number; readonly row: number } | undefined,
): Promise<{ readonly conversations: readonly ConversationShown[]; readonly more: boolean }> {
  await flush();
  const limit = CONVERSATIONS_OF_A_PAGE;
  const found = await segments.recentConversations({ limit: limit + 1, after });
  return { conversations: found.slice(0, limit).map(shown), more: found.length > limit };
}

/**
 * The texts of a conversation, the newest page of them or one before it.
 *
 * @param project - `null`: the one in which it was seen last
 * @throws PrunerError `resource_not_found`
 * @throws StoreUnavailable
 */
export async function conversationPage(
  parts: ConversationParts,
  { name, project }: { readonly name: string; readonly project: string | null },
  before: Pick<StoredSegment, 'ordinal' | 'row'> | undefined,
): Promise<ConversationPage> {
  await parts.flush();
  const named = await parts.segments.conversationsNamed(name);
  const conversation =
    project === null ? named[0] : named.find((one) => readProjectKey(one.project).project === project);
  if (!conversation) {
    const hint = 'Nothing is known of this conversation: it had no text that was looked at, or is no longer kept.';
    throw new PrunerError('resource_not_found', { hint });
  }
  const limit = TEXTS_OF_A_PAGE;
  const found = await parts.segments.segments(conversation, { limit: limit + 1, after: before });
  const page = found.slice(0, limit).reverse();
  const prunes = await parts.segments.prunesOf(page.map(({ row }) => row));
  const texts = await Promise.all(
    page.map((segment) => textOf(parts, conversation, segment, prunes.get(segment.row) ?? [])),
  );
  const [first] = page;
  const earlier = found.length > limit && first ? { ordinal: first.ordinal, row: first.row } : null;
  return { conversation: shown(conversation), texts, earlier };
}

async function textOf(
  { store }: ConversationParts,
  { project, baseTurn }: ProjectConversation,
  segment: StoredSegment,
  pruneIds: readonly string[],
): Promise<TextOfTurn> {
  const { id, row, ordinal, role, type, effect, tool, path, startLine, endLine, tokens, lines, directed } = segment;
  const stash = directed === 'stash' ? stashId(project, id) : null;
  const found = await Promise.all(pruneIds.map((pruneId) => store.findPrune(pruneId)));
  const cuts = found.flatMap((prune): CutShown[] => {
    const pruneId = prune?.decision.pruneId;
    if (!prune || !pruneId || prune.decision.cuts.length === 0) return [];
    const { kind, lines: all, keptLines, tokensBefore, tokensAfter } = prune.decision;
    return [{ pruneId, kind, lines: all, keptLines, tokensBefore, tokensAfter }];
  });
  return {
    ...{ id, row, ordinal, turn: segment.firstTurn, role, type, effect, tool, path, startLine, endLine },
    ...{ tokens, lines, atMs: segment.createdMs, directed, left: segment.seenTurn < baseTurn, cuts },
    stash: stash !== null && (await store.findPrune(stash)) !== null ? stash : null,
  };
}

function shown({ row, project, name, task, turns, messages, seenMs }: ProjectConversation): ConversationShown {
  return { row, ...readProjectKey(project), name, task, turns, messages, seenMs };
}
