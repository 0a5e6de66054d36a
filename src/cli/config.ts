import type { Loaded, Origin } from '../config/load.ts';
import { shownSettings } from '../config/show.ts';
import { servingProblem } from '../config/warnings.ts';
import { type Command, configOption } from './command.ts';
import { readSettings } from './read-settings.ts';

export const config: Command = {
  usage: 'config [--json]',
  about: 'Prints every setting, its effective value and where the value came from. Secrets are masked.',
  options: { ...configOption, json: { type: 'boolean', doc: 'print JSON' } },
  arguments: { min: 0, max: 0 },

  async run(call, io) {
    const loaded = readSettings(call, io);
    io.out(call.values.json === true ? asJson(loaded) : asTable(loaded));
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

function asTable(loaded: Loaded): string {
  const rows = shownSettings(loaded).map(
    ({ key, value, origin }) => [key, valueText(value), originText(origin)] as const,
  );
  const keyWidth = Math.max(...rows.map(([key]) => key.length));
  const valueWidth = Math.min(60, Math.max(...rows.map(([, value]) => value.length)));
  const lines = rows.map(([key, value, from]) => `${key.padEnd(keyWidth)} = ${value.padEnd(valueWidth)}  ${from}`);
  return `# configuration file: ${loaded.configFile ?? 'none'}\n${lines.join('\n')}\n`;
}

function valueText(value: unknown): string {
  return value === null ? '(none)' : JSON.stringify(value);
}

function originText({ from, name }: Origin): string {
  if (from === 'default') return 'default';
  return from === 'implied' ? `because of ${name}` : `${from} ${name}`;
}
