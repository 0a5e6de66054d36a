import { type Command, GROUPS, type Io, type LazyCommand } from './command.ts';
import { wrapped } from './table.ts';

/** Maximum width of help texts, even without a terminal. */
const MAX_COLUMNS = 100;

const TITLES: Readonly<Record<(typeof GROUPS)[number], string>> = {
  daily: 'Every day:',
  server: 'The proxy:',
  team: 'A team and its data:',
  lab: 'Try and measure:',
};

export function programHelp(
  commands: Readonly<Record<string, Omit<LazyCommand, 'load'>>>,
  io: Pick<Io, 'columns' | 'asTyped'>,
): string {
  const columns = Math.min(io.columns ?? MAX_COLUMNS, MAX_COLUMNS);
  const filled = (text: string): string => wrapped(text, '', { ...io, columns }).trimEnd();
  const listed = Object.entries(commands).filter(([, { group }]) => group !== undefined);
  const width = Math.max(...listed.map(([name]) => name.length));
  const groups = GROUPS.flatMap((group) => [
    TITLES[group],
    ...listed
      .filter(([, command]) => command.group === group)
      .map(([name, { summary }]) =>
        wrapped(summary, `  ${name.padEnd(width)}  `, { columns }, ' '.repeat(width + 4)).trimEnd(),
      ),
    '',
  ]);
  return [
    filled('mcp-pruner: prunes large tool results on their way to a model; every cut is marked and can be recovered.'),
    '',
    filled('Usage: mcp-pruner <command> [options]'),
    '',
    ...groups,
    'Options:',
    ...everywhere.map(([left, right]) => `  ${left.padEnd(13)}  ${right}`),
    '',
    filled('mcp-pruner <command> --help describes one of them. Settings: docs/configuration.md, or mcp-pruner config.'),
    filled('Without a command, it serves MCP over stdin and stdout, unless stdin is a terminal.'),
    '',
  ].join('\n');
}

/**
 * The output of `mcp-pruner <command> --help`.
 *
 * @param all - includes the options that only `--help --all` shows
 */
export function commandHelp(
  { usage, about, options, commonOptions: common }: Command,
  io: Pick<Io, 'columns' | 'asTyped'>,
  all = false,
): string {
  const columnsAtMost = { ...io, columns: Math.min(io.columns ?? MAX_COLUMNS, MAX_COLUMNS) };
  const names = Object.keys(options);
  const shown = all || common === undefined ? names : names.filter((name) => common.includes(name));
  const own = shown.map((name): [string, string] => {
    const value = options[name]?.value;
    return [value === undefined ? `--${name}` : `--${name} ${value}`, options[name]?.doc ?? ''];
  });
  const left = names.length - shown.length;
  const further = `${left} more options: mcp-pruner ${usage.split(' ', 1)[0]} --help --all`;
  const more = left === 0 ? [] : ['', wrapped(further, '', columnsAtMost).trimEnd()];
  const width = Math.max(...[...own, ...everywhere].map(([left]) => left.length));
  const lines = [...own, ...everywhere].map(([left, right]) =>
    wrapped(right, `  ${left.padEnd(width)}  `, columnsAtMost, ' '.repeat(width + 4)).trimEnd(),
  );
  return [
    wrapped(`mcp-pruner ${usage}`, 'Usage: ', columnsAtMost, '       '),
    ...about.split('\n\n').map((part) => wrapped(part.replaceAll('\n', ' '), '', columnsAtMost)),
    'Options:',
    ...lines,
    ...more,
    '',
  ].join('\n');
}

const everywhere: [string, string][] = [
  ['-h, --help', 'print this help'],
  ['-v, --version', 'print the version'],
];
