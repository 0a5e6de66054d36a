import type { Settings } from '../config/settings.ts';
import type { ShelfStore, ShelfSums } from '../core/ports/shelf.ts';
import { count, money } from './report-words.ts';

/** The tool shelf as a report shows it. Tokens are those of all requests of the time together. */
export interface ShelfReport {
  readonly tool_shelf: {
    readonly setting: Settings['toolShelf'];
    readonly would_save: ShelfSums;
    readonly saved: ShelfSums;
    /** Calls of tools whose descriptions were shortened. */
    readonly shelf_called: number;
  };
}

/** This version forwards all descriptions whole. */
const NOTHING_SHORTENED = { saved: { tokens: 0, usd: 0 }, shelf_called: 0 };

/** @throws StoreUnavailable */
export async function readShelf(
  store: Pick<ShelfStore, 'wouldSave'>,
  setting: Settings['toolShelf'],
  query: { readonly sinceDay: string; readonly project?: string },
): Promise<ShelfReport> {
  return { tool_shelf: { setting, would_save: await store.wouldSave(query), ...NOTHING_SHORTENED } };
}

/** What unused tools cost; `''` where that is nothing. */
export function shelfText({ tool_shelf: { would_save } }: ShelfReport): string {
  if (would_save.tokens === 0) return '';
  const { tokens, usd } = would_save;
  return `\nTools: descriptions of tools that are never called cost ${count(tokens)} tokens, ${money(usd)}: mcp-pruner tools\n`;
}
