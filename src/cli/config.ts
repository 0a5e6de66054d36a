import type { Loaded, Origin } from '../config/load.ts';
import { shownSettings } from '../config/show.ts';
import { servingProblem } from '../config/warnings.ts';
import { type Command, configOption, flag } from './command.ts';
import { readSettings } from './read-settings.ts';
import { wrap } from './table.ts';

export const config: Command = {
  usage: 'config [--all] [--json]',
  about:
    'Prints the settings that differ from their defaults, and where each value comes from; with --all or --json, every setting. Secrets are masked.',
  options: {
    ...configOption,
    all: flag('every setting'),
    json: flag('print JSON'),
  },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    const loaded = readSettings(call, io);
    io.out(call.values.json === true ? asJson(loaded) : asTable(loaded, call.values.all === true, io.columns));
    const problem = servingProblem(loaded.settings, loaded.table);
    for (const warning of [...loaded.warnings, ...(problem === null ? [] : [`serve will not start: ${problem}`])]) {
      io.err(`mcp-pruner: warning: ${warning}\n`);
    }
    return 0;
  },
};

function asJson(loaded: Loaded): string {
  const settings = Object.fromEntries(
    shownSettings(loaded).map(({ key, value, origin }) => [key, { value, origin: origin.from, source: origin.name }]),
  );
  return `${JSON.stringify({ config_file: loaded.configFile, settings, warnings: loaded.warnings }, null, 2)}\n`;
}

function asTable(loaded: Loaded, all: boolean, columns: number | undefined): string {
  const file = `# configuration file: ${loaded.configFile ?? 'none'}\n`;
  const rows = shownSettings(loaded)
    .filter(({ origin }) => all || origin.from !== 'default')
    .map(({ key, value, origin }) => [key, valueText(value), originText(origin)] as const);
  const more = all
    ? ''
    : `# mcp-pruner config --all prints ${rows.length === 0 ? 'the settings: all have their defaults' : 'the others'}\n`;
  const keyWidth = Math.max(0, ...rows.map(([key]) => key.length));
  const valueWidth = Math.min(60, Math.max(0, ...rows.map(([, value]) => value.length)));
  const lines = rows.map(([key, value, from]) => {
    const line = `${key.padEnd(keyWidth)} = ${value.padEnd(valueWidth)}  ${from}`;
    const words = `${key} = ${value.replaceAll('","', '", "')}  ${from}`;
    return line.length <= (columns ?? line.length) ? line : wrap(words, columns, 4);
  });
  return `${file}${lines.map((line) => `${line}\n`).join('')}${more}`;
}

function valueText(value: unknown): string {
  return value === null ? '(none)' : JSON.stringify(value);
}

function originText({ from, name }: Origin): string {
  if (from === 'default') return 'default';
  return from === 'implied' ? `because of ${name}` : `${from} ${name}`;
}
