import { count } from '../base/counts.ts';
import type { Settings } from '../config/settings.ts';
import type { ShelfStore, ShelfSums } from '../core/ports/shelf.ts';
import { money } from './report/words.ts';

/** The tool shelf as a report shows it. Tokens are the sum over all requests of the time. */
export interface ShelfReport {
  readonly tool_shelf: {
    readonly setting: Settings['toolShelf'];
    readonly would_save: ShelfSums;
    readonly saved: ShelfSums;
    /** Calls of tools whose descriptions were shortened. */
    readonly shelf_called: number;
  };
}

/** @throws StoreUnavailable */
export async function readShelf(
  store: Pick<ShelfStore, 'totals'>,
  setting: Settings['toolShelf'],
  query: { readonly sinceDay: string; readonly project?: string },
): Promise<ShelfReport> {
  const { wouldSave: would_save, saved, called: shelf_called } = await store.totals(query);
  return { tool_shelf: { setting, would_save, saved, shelf_called } };
}

/** The cost of unused tools and the saving of shortening them, or `''`. */
export function shelfText({ tool_shelf: { setting, would_save, saved, shelf_called } }: ShelfReport): string {
  const lines: string[] = [];
  if (saved.tokens > 0) {
    const called = shelf_called === 0 ? 'none was called' : `${count(shelf_called)} calls of a shortened tool`;
    lines.push(`shortened descriptions saved ${count(saved.tokens)} tokens, ${money(saved.usd)}; ${called}`);
  }
  if (would_save.tokens > 0) {
    const how = setting === 'measure' || setting === 'off' ? '; MCP_PRUNER_TOOL_SHELF=on saves that' : '';
    const text = `descriptions of tools that are never called cost ${count(would_save.tokens)} tokens`;
    lines.push(`${text}, ${money(would_save.usd)}: mcp-pruner report --tools${how}`);
  }
  return lines.length === 0 ? '' : `\nTools: ${lines.join('\n       ')}\n`;
}
