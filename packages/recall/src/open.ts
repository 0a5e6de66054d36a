import type { Context } from 'mcp-pruner/app/context.ts';
import type { RecallGuest } from 'mcp-pruner/app/guest.ts';
import { DirectiveBook } from 'mcp-pruner/core/segments/directive-book.ts';
import { ResultKeeper } from './keeper.ts';
import { Recall } from './recall.ts';
import { recallTool } from './tool.ts';

/**
 * Opens recall: stores tool results, and searches them.
 *
 * @param onHits - gets the prune ids of results that a search returned
 */
export function openRecall(
  { settings, store, failures, clock, behind }: Context,
  onHits: (pruneIds: readonly string[]) => void,
): RecallGuest {
  const keeper = new ResultKeeper({
    store,
    keepsAll: settings.recall === 'on',
    clock,
    directives: new DirectiveBook(store.segments),
    ttlMs: settings.pruneIdTtlS * 1000,
    behind,
    onFailure: failures.of('recall'),
  });
  return {
    name: 'recall',
    rows: {},
    sees: keeper,
    flush: () => keeper.flush(),
    over(viewed, flush) {
      const search = new Recall({ store: viewed.store.recall, flush, onHits });
      return { search: (input) => search.search(input), tools: [recallTool(search)] };
    },
  };
}
