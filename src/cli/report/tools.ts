import { count } from '../../base/counts.ts';
import { type DeclaredTool, type NamedTool, toolsByName } from '../../core/shelf/by-name.ts';
import { type Call, type Io, printable, textOption } from '../command.ts';
import { withStore } from '../open-store.ts';
import { readSettings } from '../read-settings.ts';
import { table, wrapped } from '../table.ts';
import { moneyColumn } from './words.ts';

/** `report --tools`: declared tools, their cost, and whether they are called. */
export async function toolsView(call: Call, io: Io): Promise<number> {
  const { globs } = await import('../../app/pipeline.ts');
  const { toolShelf, toolShelfNever } = readSettings(call, io).settings;
  const never = globs(toolShelfNever);
  const shortens = toolShelf === 'on' || toolShelf === 'always';
  const project = textOption(call, 'project');
  const found = await withStore(call, io, ({ shelf }) => shelf.tools(project === undefined ? {} : { project }));
  const about = { never, shortens };
  const tools = toolsByName(found, io.clock.nowMs());
  if (call.values.json === true)
    io.out(
      `${JSON.stringify(
        tools.map((tool) => asJson(tool, about)),
        null,
        2,
      )}\n`,
    );
  else if (tools.length === 0)
    io.out(wrapped('no tools were seen: only requests through the proxy are counted', '', io));
  else {
    const cost = moneyColumn(tools.map(({ dollarsPerMonth }) => dollarsPerMonth));
    const rows = tools.flatMap((tool) => [
      rowOf(printable(tool.name), tool, about, cost),
      // with a selected project, clients are shown too
      ...(project === undefined || tool.declarations.length < 2
        ? []
        : tool.declarations.map((one) => rowOf(`  ${printable(one.client)}`, one, about, cost))),
    ]);
    io.out(`${table([HEADS, ...rows], { textColumns: 1, width: io.columns })}\n`);
    if (project === undefined)
      io.out(`\n${wrapped('--project <name> opens the tools of one project by client', '', io)}`);
  }
  return 0;
}

const HEADS = ['tool', 'tokens', 'conversations', 'calls', 'last call', 'state', 'a month'];

interface About {
  readonly never: (name: string) => boolean;
  /** Whether shelved tools are currently shortened. */
  readonly shortens: boolean;
}

type State = 'whole' | 'shortened' | 'never' | 'deferred';

function stateOf({ name, kind, shelved }: NamedTool, { never, shortens }: About): State {
  if (kind !== 'plain') return kind;
  return never(name) ? 'never' : shelved && shortens ? 'shortened' : 'whole';
}

/** A tool, as in `report --tools --json`. */
function asJson({ declarations, ...tool }: DeclaredTool, about: About) {
  const figures = ({ tokens, conversations, calls, lastCallMs, dollarsPerMonth }: NamedTool) => ({
    ...{ tokens, conversations, calls },
    last_call: lastCallMs === null ? null : new Date(lastCallMs).toISOString(),
    /** cost so far or, for older tools, mean cost per 30 days */
    usd_per_month: dollarsPerMonth,
  });
  return {
    name: tool.name,
    ...figures(tool),
    state: stateOf(tool, about),
    declarations: declarations.map((one) => ({ project: one.project, client: one.client, ...figures(one) })),
  };
}

function rowOf(name: string, tool: NamedTool, about: About, cost: (dollars: number) => string): string[] {
  const { tokens, conversations, calls, lastCallMs, dollarsPerMonth } = tool;
  const last = lastCallMs === null ? '-' : new Date(lastCallMs).toISOString().slice(0, 10);
  const figures = [count(tokens), count(conversations), count(calls), last, stateOf(tool, about)];
  return [name, ...figures, cost(dollarsPerMonth)];
}
