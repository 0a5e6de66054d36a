import type { Command } from './command.ts';

/** What `mcp-pruner --help` prints. */
export function programHelp(commands: Readonly<Record<string, { readonly summary: string }>>): string {
  const names = Object.keys(commands);
  return [
    'mcp-pruner: prunes large tool results on their way to a model; every cut is marked and can be taken back.',
    '',
    'Usage: mcp-pruner <command> [options]',
    '',
    'Commands:',
    ...columns(names.map((name) => [name, commands[name]?.summary ?? ''])),
    '',
    'Options:',
    ...columns(commonOptions),
    '',
    'mcp-pruner <command> --help tells more of one. Settings: docs/configuration.md, or mcp-pruner config.',
    '',
  ].join('\n');
}

/** What `mcp-pruner <command> --help` prints. */
export function commandHelp({ usage, about, options }: Command): string {
  const own = Object.entries(options).map(([name, { value, doc }]): [string, string] => [
    value === undefined ? `--${name}` : `--${name} ${value}`,
    doc,
  ]);
  return [`Usage: mcp-pruner ${usage}`, '', about, '', 'Options:', ...columns([...own, ...commonOptions]), ''].join(
    '\n',
  );
}

const commonOptions: [string, string][] = [
  ['-h, --help', 'print this help'],
  ['-v, --version', 'print the version'],
];

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
