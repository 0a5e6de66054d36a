import { messageOf } from 'mcp-pruner/base/causes.ts';
import {
  type Call,
  type Command,
  configOption,
  type Io,
  textOption,
  UsageError,
  valued,
} from 'mcp-pruner/cli/command.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import type { Side } from 'mcp-pruner/store/move/tables.ts';
import { eraseOptions } from './erase.ts';
import type { Progress } from './move.ts';

export const store: Command = {
  usage:
    'store move --from <store> --to <store> | erase --project <name> | --user <name> | --key <key> [--dry-run] [--json]',
  about: [
    'move copies everything from one store into another, and compares the two. Stop the programs that use them first. An',
    'interrupted move can be run again. For a URL with a password, give - and put the URL into MCP_PRUNER_DATABASE_URL.',
    'erase erases everything that the store has of a project or a person, and searches it again. With --json, the result is a',
    'document: keep it as proof. Servers may stay up. A conversation that continues is stored again, so revoke its keys first.',
    'The exit code is 1 if a trace was left or may be left. What stays and why is in docs/operate.md.',
  ].join('\n'),
  options: {
    ...configOption,
    from: valued('<store>', 'move: sqlite:<file>, postgres://…, or - for MCP_PRUNER_DATABASE_URL'),
    to: valued('<store>', 'move: the same; it must be empty or filled by the same move'),
    ...eraseOptions,
  },
  arguments: { min: 1, max: 1 },
  words: ['move', 'erase'],

  async run(call, io) {
    const [verb] = call.positionals;
    if (verb === 'erase') return (await import('./erase.ts')).eraseFromStore(call, io);
    if (verb !== 'move')
      throw new UsageError(`unknown action ${JSON.stringify(verb)} of store: there are move and erase`);
    const [from, to] = [placeOf(call, io, 'from'), placeOf(call, io, 'to')];
    const [{ moveStore }, { movedWith }, { textHash }] = await Promise.all([
      import('./move.ts'),
      import('mcp-pruner/store/move/tables.ts'),
      import('mcp-pruner/core/hash.ts'),
    ]);
    const source = await open(from, true, io);
    try {
      const target = await open(to, false, io);
      try {
        const tables = movedWith(io.edition.tables);
        const show = (progress: Progress): void => draw(io, progress);
        const { rows, originals } = await moveStore(source, target, tables, textHash, show);
        const total = Object.values(rows).reduce((sum, count) => sum + count, 0);
        if (io.errIsTerminal) io.err('\r\x1b[K');
        io.out(`moved ${total} rows; both stores are equal, and the hashes of ${originals} originals are correct\n`);
        return 0;
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  },
};

function placeOf(call: Call, io: Io, name: 'from' | 'to'): string {
  const text = textOption(call, name);
  if (text === undefined) throw new UsageError(`--${name} is missing: sqlite:<file> or postgres://…`);
  const place = text === '-' ? (io.env.MCP_PRUNER_DATABASE_URL ?? '') : text;
  if (/^sqlite:.|^postgres(ql)?:\/\/./.test(place)) return place;
  // the value may contain a password
  throw new UsageError(`--${name} is no store: expected sqlite:<file>, postgres://… or - with MCP_PRUNER_DATABASE_URL`);
}

async function open(place: string, readonly: boolean, io: Io): Promise<Side> {
  const path = place.replace(/^sqlite:/, '');
  const { tables } = io.edition;
  try {
    if (place.startsWith('sqlite:')) {
      if (readonly && !io.fileExists(path)) throw new UserError(`there is no file ${path}`);
      return (await import('./sqlite-side.ts')).openSqliteSide(path, readonly, tables);
    }
    return await (await import('mcp-pruner/app/store.ts'))
      .serverOf(io.edition)
      .openSide(place, readonly, io.clock, tables);
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const detail = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : '';
    const message = messageOf(cause);
    throw new UserError(detail === '' ? message : `${message} (${detail})`, { cause });
  }
}

const BAR_CHARS = 24;

function draw(io: Io, { step, table, done, total }: Progress): void {
  if (!io.errIsTerminal) return;
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.round(share * BAR_CHARS);
  const bar = '█'.repeat(full) + '░'.repeat(BAR_CHARS - full);
  io.err(`\r\x1b[K${step === 'copy' ? 'copying  ' : 'comparing'} ${bar} ${done}/${total} ${table}`);
}
