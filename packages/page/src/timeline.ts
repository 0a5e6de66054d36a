import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerReader } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { StoredEvent } from 'mcp-pruner/core/ports.ts';
import type { TimelineShown, TurnShown } from './shapes.ts';
import type { PageParts } from './views.ts';

/** Maximum number of requests on a timeline, newest first. */
const MOST_TURNS = 2_000;
const TURNS_AT_ONCE = 1_000;
const MOST_EVENTS = 10_000;

/** Requests of a conversation, and events between them. @throws StoreUnavailable */
export async function timelineOf(
  { store, ledger, threshold, flush }: PageParts,
  name: string,
  project: string | undefined,
): Promise<TimelineShown> {
  await flush();
  const [turns, compactions, events] = await Promise.all([
    turnsOf(ledger, name, project),
    store.browse.compactions([name], project === undefined ? undefined : [project]),
    store.events({ runId: name, fromSeq: 1, limit: MOST_EVENTS }),
  ]);
  const last = turns.at(-1);
  return {
    threshold: last ? await threshold({ project: last.project, product: last.client ?? '', model: last.model }) : null,
    turns: turns.slice(-MOST_TURNS).map(turnOf),
    earlier: turns.length > MOST_TURNS,
    compactions: compactions.map(({ atMs, tokens, client, continues, conversation }) => {
      const ends = continues === name;
      return { atMs, tokens, client, ends, other: ends ? conversation : continues };
    }),
    recoveries: events.filter(({ kind }) => kind === 'recovered').map(recoveryOf),
  };
}

async function turnsOf(ledger: LedgerReader, name: string, project: string | undefined): Promise<LedgerTurn[]> {
  const all: LedgerTurn[] = [];
  for (let more = true; more; ) {
    const after = all.at(-1)?.requestId;
    const page = await ledger.turns({
      conversationId: name,
      limit: TURNS_AT_ONCE,
      ...(after !== undefined && { after }),
    });
    all.push(...page);
    more = page.length === TURNS_AT_ONCE;
  }
  return project === undefined ? all : all.filter((turn) => turn.project === project);
}

function turnOf(turn: LedgerTurn): TurnShown {
  const { requestId, atMs, model, fresh, write5m, write1h, read, output, estimated, odd, removed, removedNew } = turn;
  const { dollars, dollarsWithout, miss, missTokens, missAt, regretTokens, regretDollars } = turn;
  return {
    ...{ requestId, atMs, model, fresh, write5m, write1h, read, output, estimated, odd, removed, removedNew },
    ...{ dollars, dollarsWithout, miss, missTokens, missAt, regretTokens, regretDollars },
  };
}

function recoveryOf({ tsMs, payload }: StoredEvent): TimelineShown['recoveries'][number] {
  const { prune_id, lines } = payload;
  return {
    atMs: tsMs,
    pruneId: typeof prune_id === 'string' ? prune_id : '',
    lines: typeof lines === 'number' ? lines : 0,
  };
}
