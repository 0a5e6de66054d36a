import type { ShelfTool } from '../../core/ports/shelf.ts';
import { type Call, type Io, textOption } from '../command.ts';
import { withStore } from '../open-store.ts';
import { readSettings } from '../read-settings.ts';
import { table } from '../table.ts';
import { printable } from '../terminal.ts';
import { count, money } from './words.ts';

const MONTH_MS = 30 * 86_400_000;

/** `report --tools`: declared tools, what they cost, and whether they are called. */
export async function toolsView(call: Call, io: Io): Promise<number> {
  const { globs } = await import('../../app/pipeline.ts');
  const { toolShelf, toolShelfNever } = readSettings(call, io).settings;
  const never = globs(toolShelfNever);
  const shortens = toolShelf === 'on' || toolShelf === 'always';
  const project = textOption(call, 'project');
  const found = await withStore(call, io, ({ shelf }) => shelf.tools(project === undefined ? {} : { project }));
  const nowMs = io.clock.nowMs();
  const shown = found.map((tool) => shownOf(tool, { never, shortens, nowMs }));
  if (call.values.json === true) io.out(`${JSON.stringify(shown, null, 2)}\n`);
  else if (shown.length === 0) io.out('no tools were seen: only requests through the proxy are counted\n');
  else {
    const rows = shown.map((one, i) => rowOf(found[i]?.client ?? '', one));
    io.out(`${table([HEADS, ...rows], { textColumns: 2, width: io.columns })}\n`);
  }
  return 0;
}

const HEADS = ['tool', 'client', 'tokens', 'conversations', 'calls', 'last call', 'state', 'a month'];

/** A tool as `report --tools --json` prints it. */
interface ToolShown {
  readonly name: string;
  readonly tokens: number;
  readonly conversations: number;
  readonly calls: number;
  /** ISO 8601; `null`: never. */
  readonly last_call: string | null;
  readonly state: 'whole' | 'shortened' | 'never' | 'deferred';
  /** Its cost so far, or on average in 30 days if it is older. */
  readonly usd_per_month: number;
}

interface Shown {
  readonly never: (name: string) => boolean;
  /** Whether tools on the shelf are shortened now. */
  readonly shortens: boolean;
  readonly nowMs: number;
}

function shownOf(tool: ShelfTool, { never, shortens, nowMs }: Shown): ToolShown {
  const { name, kind, tokens, conversations, calls, lastCallMs, firstMs, dollars, shelved } = tool;
  const plain = never(name) ? 'never' : shelved && shortens ? 'shortened' : 'whole';
  const state = kind === 'plain' ? plain : kind;
  const months = Math.max(1, (nowMs - firstMs) / MONTH_MS);
  const last_call = lastCallMs === null ? null : new Date(lastCallMs).toISOString();
  return { name, tokens, conversations, calls, last_call, state, usd_per_month: dollars / months };
}

function rowOf(client: string, shown: ToolShown): string[] {
  const { name, tokens, conversations, calls, last_call, state, usd_per_month } = shown;
  const figures = [count(tokens), count(conversations), count(calls), last_call?.slice(0, 10) ?? '-'];
  return [printable(name), printable(client), ...figures, state, money(usd_per_month)];
}
