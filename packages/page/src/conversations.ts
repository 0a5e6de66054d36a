import { count, name } from 'mcp-pruner/app/page/answers.ts';
import { sessionIn } from 'mcp-pruner/base/conversation-ids.ts';
import type { ListedConversation } from 'mcp-pruner/core/ports/browse.ts';
import type { ProjectConversation, StoredSegment } from 'mcp-pruner/core/ports/segments.ts';
import { stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import { readProjectKey } from 'mcp-pruner/core/segments/verified-history-project.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { PrunerError } from 'mcp-pruner/errors/errors.ts';
import { z } from 'zod';
import type {
  ConversationPage,
  ConversationShown,
  ConversationsShown,
  CutShown,
  HitShown,
  TextOfTurn,
} from './shapes.ts';
import type { PageParts } from './views.ts';

type ConversationParts = Pick<PageParts, 'recall' | 'flush'> & {
  readonly store: Pick<PageParts['store'], 'segments' | 'browse' | 'findPrune'>;
};

const CONVERSATIONS_OF_A_PAGE = 50;
const TEXTS_OF_A_PAGE = 100;
/** Maximum number of projects searched if none is selected; those with the newest conversations are searched. */
const MOST_SEARCHED = 5;
const MAX_HITS = 50;
const HIT_CHARS = 240;
/** Shorter words occur in almost every text. */
const MIN_WORDS_CHARS = 3;

export const conversationsQuery = z.object({
  ...{ project: name.optional(), client: name.optional(), model: name.optional(), wire: name.optional() },
  /** Words in a conversation's facts or in its tool results. */
  q: z.string().trim().max(500).optional(),
  sort: z.enum(['seen', 'requests', 'dollars', 'saved', 'cut']).default('seen'),
  from: count.default(0),
});

/** A page of conversations. @throws StoreUnavailable */
export async function conversationsFrom(
  parts: ConversationParts,
  { project, q, sort, from, ...filters }: z.infer<typeof conversationsQuery>,
): Promise<ConversationsShown> {
  await parts.flush();
  const limit = CONVERSATIONS_OF_A_PAGE;
  const projects = project === undefined ? undefined : [project];
  const hits =
    q === undefined || q.length < MIN_WORDS_CHARS ? new Map<string, HitShown>() : await hitsOf(parts, q, project);
  const query = { ...filters, projects, words: q, order: sort, offset: from, limit: limit + 1 };
  const found = await parts.store.browse.conversations({
    ...query,
    ...(q !== undefined && { named: [...hits.keys()] }),
  });
  const page = found.slice(0, limit);
  const compactions = await parts.store.browse.compactions(
    page.map(({ name }) => name),
    projects,
  );
  const conversations = page.map((one) => {
    const ownCompactions = compactions.filter(
      (compaction) => compaction.project === readProjectKey(one.project).project,
    );
    return shown(one, ownCompactions, hits.get(one.name) ?? null);
  });
  return { conversations: bySession(conversations), more: found.length > limit };
}

/** Groups the conversations of a session, oldest first, at the position of the first one in the list. */
function bySession(conversations: readonly ConversationShown[]): readonly ConversationShown[] {
  const groups = groupBy(conversations, ({ session, row }) => session || row);
  return [...groups.values()].flatMap((group) =>
    group.sort((a, b) => a.row - b.row).map((one, i) => (i > 0 ? { ...one, side: true } : one)),
  );
}

/** The best matching tool result per conversation. */
async function hitsOf(
  { store: { browse }, recall }: ConversationParts,
  query: string,
  project: string | undefined,
): Promise<Map<string, HitShown>> {
  const newest = project === undefined ? await browse.conversations({ order: 'seen', offset: 0, limit: 200 }) : [];
  const projects = project === undefined ? newest.map((one) => readProjectKey(one.project).project) : [project];
  const searched = [...new Set(projects)].slice(0, MOST_SEARCHED);
  const answers = await Promise.all(
    searched.map((one) => recall.search({ query, scope: 'project', limit: MAX_HITS, project: one, task: '' })),
  );
  const hits = answers.flatMap((answer) => answer.hits);
  const showing = await browse.showing(
    hits.map((hit) => hit.prune_id),
    searched,
  );
  const found = new Map<string, HitShown>();
  for (const { prune_id, lines, path, tool, text } of hits)
    for (const name of showing.get(prune_id) ?? [])
      if (!found.has(name))
        found.set(name, { pruneId: prune_id, lines, of: path ?? tool ?? '', text: text.slice(0, HIT_CHARS) });
  return found;
}

/**
 * A page of a conversation's texts, the newest by default.
 *
 * @param project - `null` for the one in which it was last seen
 * @throws PrunerError `resource_not_found`
 * @throws StoreUnavailable
 */
export async function conversationPage(
  parts: ConversationParts,
  { name, project }: { readonly name: string; readonly project: string | null },
  before: Pick<StoredSegment, 'ordinal' | 'row'> | undefined,
): Promise<ConversationPage> {
  await parts.flush();
  const [named, listed] = await Promise.all([
    parts.store.segments.conversationsNamed(name),
    parts.store.browse.conversations({ named: [name], order: 'seen', offset: 0, limit: 100 }),
  ]);
  const conversation =
    project === null ? named[0] : named.find((one) => readProjectKey(one.project).project === project);
  const known = listed.find(({ row }) => row === conversation?.row);
  if (!conversation || !known) {
    const hint = 'This conversation is unknown: it had no text that was examined, or is no longer stored.';
    throw new PrunerError('resource_not_found', { hint });
  }
  const limit = TEXTS_OF_A_PAGE;
  const found = await parts.store.segments.segments(conversation, {
    limit: limit + 1,
    ...(before && { after: before }),
  });
  const page = found.slice(0, limit).reverse();
  const prunes = await parts.store.segments.prunesOf(page.map(({ row }) => row));
  // two projects may have received the same text from different calls
  const of = [readProjectKey(conversation.project).project];
  const asked = await parts.store.browse.asked([...new Set([...prunes.values()].flat())], of);
  const texts = await Promise.all(
    page.map(async (segment) => {
      const pruneIds = prunes.get(segment.row) ?? [];
      const call = pruneIds.map((id) => asked.get(id)).find((one) => one !== undefined);
      return { ...(await textOf(parts, conversation, segment, pruneIds)), asked: firstLine(call) };
    }),
  );
  const [first] = page;
  const earlier = found.length > limit && first ? { ordinal: first.ordinal, row: first.row } : null;
  return { conversation: shown(known, [], null), texts, earlier };
}

const MAX_ASKED_CHARS = 120;

export function firstLine(asked = ''): string {
  const [line = ''] = asked.trimStart().split('\n', 1);
  return line.length > MAX_ASKED_CHARS ? `${line.slice(0, MAX_ASKED_CHARS).toWellFormed()}…` : line;
}

async function textOf(
  { store }: ConversationParts,
  { project, baseTurn }: ProjectConversation,
  segment: StoredSegment,
  pruneIds: readonly string[],
): Promise<Omit<TextOfTurn, 'asked'>> {
  const { id, row, ordinal, role, type, effect, tool, path, startLine, endLine, tokens, lines, directed } = segment;
  const found = await Promise.all(pruneIds.map((pruneId) => store.findPrune(pruneId)));
  const stash = directed === 'stash' || directed === 'aside' ? stashId(project, id) : null;
  const aside = directed === 'aside' ? (found.find((prune) => prune !== null)?.decision.pruneId ?? null) : null;
  const cuts = found.flatMap((prune): CutShown[] => {
    const pruneId = prune?.decision.pruneId;
    if (!prune || !pruneId || prune.decision.cuts.length === 0) return [];
    const { kind, lines: all, keptLines, tokensBefore, tokensAfter } = prune.decision;
    return [{ pruneId, kind, lines: all, keptLines, tokensBefore, tokensAfter }];
  });
  return {
    ...{ id, row, ordinal, turn: segment.firstTurn, role, type, effect, tool, path, startLine, endLine },
    ...{ tokens, lines, atMs: segment.createdMs, directed, left: segment.seenTurn < baseTurn, cuts },
    stash: stash !== null && (await store.findPrune(stash)) !== null ? stash : cuts.length === 0 ? aside : null,
  };
}

function shown(
  { row, project, name, task, turns, messages, seenMs, client, opening, bill }: ListedConversation,
  compactions: readonly { readonly continues: string; readonly conversation: string }[],
  hit: HitShown | null,
): ConversationShown {
  const begun = compactions.find(({ conversation, continues }) => conversation === name && continues !== name);
  return {
    ...{ row, ...readProjectKey(project), name, task: task === name ? '' : task, turns, messages, seenMs, client },
    ...{ opening, bill, hit, continues: begun?.continues ?? null, session: sessionIn(name), side: false },
    compactions: compactions.filter((one) => one.continues === name && one.conversation !== '').length,
  };
}
