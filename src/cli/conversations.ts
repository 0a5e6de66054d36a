import type { ListedConversation } from '../core/ports/browse.ts';
import type { ContextReport } from '../core/ports/context-report.ts';
import { readProjectKey } from '../core/segments/verified-history-project.ts';
import type { StoreHandle } from '../store/handle.ts';

const TITLE_CHARS = 40;

export interface NamedConversation {
  readonly id: string;
  /** First words of the user, else the task; `''` if neither is kept. */
  readonly title: string;
  readonly project: string;
  readonly client: string;
  readonly model: string;
  /** Time of the last request, ISO 8601. */
  readonly last: string;
  readonly requests: number;
  /** Dollars spent, and saved net of regret; `null` without a price. */
  readonly dollars: number | null;
  readonly saved: number | null;
}

/** Conversations with a request since `sinceMs`, the newest first. @throws StoreUnavailable */
export async function readNewest(
  { browse }: Pick<StoreHandle, 'browse'>,
  query: { readonly sinceMs: number; readonly project?: string | undefined; readonly limit: number },
): Promise<readonly NamedConversation[]> {
  const projects = query.project === undefined ? undefined : [query.project];
  const found = await browse.conversations({ projects, order: 'seen', offset: 0, limit: query.limit });
  return found.filter(({ seenMs }) => seenMs >= query.sinceMs).map(named);
}

/** Titles of conversations by id; those without a title are absent. @throws StoreUnavailable */
export async function readTitles(
  { browse }: Pick<StoreHandle, 'browse'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const found = await browse.conversations({ named: ids, order: 'seen', offset: 0, limit: ids.length });
  return new Map(found.map(named).flatMap(({ id, title }) => (title === '' ? [] : [[id, title]])));
}

export function named(conversation: ListedConversation): NamedConversation {
  const { name, opening, task, client, bill, seenMs, turns, project } = conversation;
  const { dollars = null, dollarsWithout = null, regretDollars = 0, model = '', requests = turns } = bill ?? {};
  return {
    id: name,
    title: opening || task,
    project: readProjectKey(project).project,
    client,
    model,
    last: new Date(seenMs).toISOString(),
    requests,
    dollars,
    saved: dollars === null || dollarsWithout === null ? null : dollarsWithout - dollars - regretDollars,
  };
}

/** Adds titles to the conversations of a report on compactions. @throws StoreUnavailable */
export async function titled<T extends ContextReport>(store: Pick<StoreHandle, 'browse'>, report: T): Promise<T> {
  const { conversations } = report.compactions;
  const titles = await readTitles(
    store,
    conversations.map(({ id }) => id),
  );
  const all = conversations.map((one) => ({ ...one, title: titles.get(one.id) ?? '' }));
  return { ...report, compactions: { ...report.compactions, conversations: all } };
}

/** A short name for people: the title, else the beginning of the id. */
export function shortName({ id, title }: Pick<NamedConversation, 'id' | 'title'>, most = TITLE_CHARS): string {
  const name = title || id;
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}
