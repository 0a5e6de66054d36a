import { defaultWords } from '../../src/config/load.ts';
import type { Setting } from '../../src/config/settings/setting.ts';
import { rows } from '../../src/config/settings.ts';
import { SECTION } from '../../src/config/toml.ts';

/** `config/default.toml`: every key that a file may hold, documented, at its default. */
export function defaultToml(): string {
  const keys = rows.flatMap(({ setting }) => (setting.toml === null ? [] : [tomlEntry(setting, setting.toml)]));
  return [
    '# Every setting of mcp-pruner at its default. Copy what you change to ~/.config/mcp-pruner/config.toml, or name a',
    '# file by MCP_PRUNER_CONFIG or --config. The environment wins over this file. Secrets may not stand here.',
    '',
    `[${SECTION}]`,
    '',
    keys.join('\n\n'),
    '',
  ].join('\n');
}

function tomlEntry(setting: Setting<unknown>, key: string): string {
  const { env, fallback, fallbackWords, rule, doc } = setting;
  const unit = setting.unit === undefined ? '' : ` Unit: ${setting.unit}.`;
  const words = fallbackWords === undefined ? '' : `\n# Default: ${fallbackWords}.`;
  const line = fallback === null || fallback === '' ? `# ${key} = "…"` : `${key} = ${tomlValue(fallback)}`;
  return `# ${doc}${unit}${words}\n# Allowed: ${rule.allowed}. Environment: ${env.join(' or ')}.\n${line}`;
}

function tomlValue(value: unknown): string {
  const grouped = typeof value === 'number' && value >= 10_000;
  return grouped ? value.toLocaleString('en-US').replaceAll(',', '_') : JSON.stringify(value);
}

/** `docs/configuration.md`. */
export function configurationPage(): string {
  return `# Configuration

Every setting can be given in the environment or in a TOML file. The command line of \`mcp-pruner serve\` wins over the
environment, the environment over the file, the file over the default. \`mcp-pruner config\` prints what is in effect and
where each value came from.

- The file is the one named by \`--config\`, else by \`MCP_PRUNER_CONFIG\`, else \`~/.config/mcp-pruner/config.toml\`
  (\`XDG_CONFIG_HOME\` is honoured; on Windows \`%APPDATA%\\mcp-pruner\\config.toml\`) if there is one. A file in the working
  directory is not read by itself: a repository must not be able to redirect your requests.
- Its settings stand below \`[${SECTION}]\`. \`config/default.toml\` has them all.
- A value that is not allowed, an unknown key in the file and a file that is named but missing stop the start with one
  line that says what to do, and exit code 2. A variable that starts with \`MCP_PRUNER_\` and is not known is a warning.
- Secrets come from the environment only. A file that holds one is refused.
- An empty variable counts as not set, except for lists and optional addresses, where it means none.
- Lists are separated by commas in the environment and are arrays in the file. Switches take \`true\`, \`1\`, \`yes\`, \`on\`
  and their opposites.

This page is printed from \`src/config/settings/\`; \`npx vitest run test/config -u\` prints it anew.

${rows.map(({ setting }) => pageEntry(setting)).join('\n\n')}
`;
}

function pageEntry(setting: Setting<unknown>): string {
  const { env, toml, rule, unit, doc, flag, toggle } = setting;
  const facts = [
    `file: ${toml === null ? 'not allowed' : `\`${toml}\``}`,
    ...(flag === undefined ? [] : [`option: \`--${flag}\``]),
    ...(toggle === undefined ? [] : [`options: \`--enable-${toggle}\`, \`--disable-${toggle}\``]),
    `allowed: ${rule.allowed}`,
    `default: ${defaultWords(setting)}`,
    ...(unit === undefined ? [] : [`unit: ${unit}`]),
  ];
  return `### \`${env.join('`, `')}\`\n\n${doc}\n\n${facts.map((fact) => `- ${fact}`).join('\n')}`;
}

/** Settings that the image sets itself, or that would lead out of it. */
const OF_THE_IMAGE = new Set(['MCP_PRUNER_HOST', 'MCP_PRUNER_PORT', 'MCP_PRUNER_DB_PATH', 'MCP_PRUNER_LOCAL_TOKEN']);

/** `docker-compose.yml` with the list of settings that it passes on; everything else in it is as it stands there. */
export function composeFile(asItIs: string): string {
  const names = rows.flatMap(({ setting }) => setting.env.slice(0, 1)).filter((name) => !OF_THE_IMAGE.has(name));
  const lines = names.map((name) =>
    name === 'MCP_PRUNER_ALLOWED_HOSTS'
      ? `      # the name under which other containers address it\n      ${name}: \${${name}:-mcp-pruner}`
      : `      ${name}:`,
  );
  return asItIs.replace(
    /(\n {4}environment: &settings\n)(?: {6}.*\n)*/,
    (_, head: string) => `${head}${lines.join('\n')}\n`,
  );
}
