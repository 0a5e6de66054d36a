import {
  type Call,
  type Command,
  configOption,
  type Io,
  painter,
  printable,
  textOption,
  UsageError,
} from 'mcp-pruner/cli/command.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import type { RecallAnswer } from 'mcp-pruner/core/ports/recall.ts';
import { DEFAULT_HITS, MAX_HITS, Recall } from './recall.ts';

export const recall: Command = {
  usage: 'recall <words> [--project P] [--task T] [--path G] [--tool G] [--limit N] [--json]',
  about:
    'Searches earlier tool results for words in any order, names and parts of names, the best hits first. Prints lines\n' +
    'with the prune id that mcp-pruner recover takes. With --task only the conversations of that task are searched.',
  options: {
    ...configOption,
    project: { type: 'string', value: '<name>', doc: 'the project that is searched (default: default)' },
    task: { type: 'string', value: '<task>', doc: 'only the conversations of this task, and those they continue' },
    path: { type: 'string', value: '<glob>', doc: 'only results about this path: whole, its end, or a glob' },
    tool: { type: 'string', value: '<glob>', doc: 'only results of this tool: its name, its end, or a glob' },
    limit: { type: 'string', value: '<n>', doc: `how many hits, 1 to ${MAX_HITS} (default ${DEFAULT_HITS})` },
    json: { type: 'boolean', doc: 'print JSON' },
  },
  arguments: { min: 1, max: 1_000 },

  async run(call, io) {
    const limit = limitOf(call);
    const task = textOption(call, 'task') ?? '';
    const answer = await withStore(call, io, ({ recall: store }) =>
      new Recall({ store, flush: async () => {} }).search({
        query: call.positionals.join(' '),
        path: textOption(call, 'path'),
        tool: textOption(call, 'tool'),
        scope: task === '' ? 'project' : 'conversation',
        limit,
        project: textOption(call, 'project') ?? 'default',
        task,
      }),
    );
    if (call.values.json === true) io.out(`${JSON.stringify(answer, null, 2)}\n`);
    else writeHits(answer, io);
    if (answer.hits.length > 0) return 0;
    const filters = ['path', 'tool', 'task', 'project'].filter((name) => textOption(call, name) !== undefined);
    const fewer = filters.length > 0 ? `, or leave out ${filters.map((name) => `--${name}`).join(', ')}` : '';
    io.err(
      `mcp-pruner: no stored result of ${textOption(call, 'project') ?? 'the project default'} has any of these words: try others${fewer}\n`,
    );
    return 1;
  },
};

function limitOf(call: Call): number {
  const text = textOption(call, 'limit') ?? String(DEFAULT_HITS);
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw new UsageError(`--limit ${JSON.stringify(text)} is not a whole number of at least 1`);
  return Math.min(limit, MAX_HITS);
}

function writeHits({ hits, more }: RecallAnswer, io: Io): void {
  const paint = painter(io);
  for (const { prune_id, lines, tool, path, when, superseded, text } of hits) {
    const about = [path ?? tool ?? '', `lines ${lines}`, when, ...(superseded ? ['superseded'] : [])];
    io.out(`${paint('bold', `${prune_id}  ${printable(about.filter(Boolean).join('  '))}`)}\n`);
    io.out(`${printable(text).replace(/^/gm, '  ')}\n\n`);
  }
  if (more) io.out(`${paint('dim', 'there are more: --limit shows up to 50')}\n`);
}
