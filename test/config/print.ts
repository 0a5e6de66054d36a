import { fleetFeatures } from '@mcp-pruner/fleet/settings.ts';
import { defaultWords } from '../../src/config/load.ts';
import { baseUrl, headerSecret, httpUrl, onOff } from '../../src/config/rules.ts';
import type { Setting } from '../../src/config/settings/setting.ts';
import { ownFeatures } from '../../src/config/settings/tools.ts';
import { SECTION } from '../../src/config/toml.ts';
import { edition } from '../../src/edition.ts';

const { rows, features } = edition.settings;

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
  if (setting.onlyFields) {
    const fields = Object.values(setting.fields ?? {}).map(
      ({ toml = '', env: [variable] = [], ...field }) =>
        `# ${field.doc}. Allowed: ${field.rule.allowed}. Environment: ${variable}.\n${toml} = ${tomlValue(field.fallback)}`,
    );
    return `# ${doc}\n${fields.join('\n')}`;
  }
  if (isGroup(setting)) {
    const entries = Object.entries(setting.fields ?? {}).map(
      ([name, field]) =>
        `#   ${name}: ${field.doc} (${field.rule.allowed.replace('; in the environment separated by commas', '')})`,
    );
    return `# ${doc} Entries:\n${entries.join('\n')}\n# Environment: ${env.join(' or ')}, with entries such as: ${Object.keys(setting.fields ?? {})[0]} = …\n${line}`;
  }
  return `# ${doc}${unit}${words}\n# Allowed: ${rule.allowed}. Environment: ${env.join(' or ')}.\n${line}`;
}

function tomlValue(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value).filter(([, one]) => one !== null);
    return `{ ${entries.map(([name, one]) => `${name} = ${tomlValue(one)}`).join(', ')} }`;
  }
  const grouped = typeof value === 'number' && value >= 10_000;
  return grouped ? value.toLocaleString('en-US').replaceAll(',', '_') : JSON.stringify(value);
}

/** Whether a setting has several values, each with its own meaning. */
function isGroup({ fields, fallback }: Setting<unknown>): boolean {
  return fields !== undefined && !Array.isArray(fallback);
}

/** `docs/configuration.md`. */
export function configurationPage(): string {
  return `# Configuration

The command line of \`mcp-pruner serve\` wins over the environment, the environment over a TOML file, the file over the default.
\`mcp-pruner config\` prints the effective values and their sources.

- The file is named by \`--config\` or \`MCP_PRUNER_CONFIG\`, else \`~/.config/mcp-pruner/config.toml\` (\`XDG_CONFIG_HOME\` applies; on
  Windows \`%APPDATA%\\mcp-pruner\\config.toml\`). A file in the working directory is never read, so that a repository cannot redirect
  requests. Keys stand below \`[${SECTION}]\`: the variable without \`MCP_PRUNER_\`, in lower case, unless a line below names another.
  \`config/default.toml\` lists all.
- A wrong value or a missing file stops the start with one line that says what to do (exit code 2). A key or \`MCP_PRUNER_\` variable that
  is unknown or was replaced is a warning.
- A list is comma-separated in the environment and an array in the file. A setting of several values is a table in the file, and in the
  environment its entries: \`MCP_PRUNER_CHILDREN='max = 4, roots = ["/work"]'\`.
- An empty variable counts as unset, except for lists and where "or empty" is allowed: there it means none.

A *secret* is visible ASCII without blanks, only from the environment. *true* and *false* may also be \`1\`, \`yes\`, \`on\` and their opposites. A
*URL* has no user name, query or fragment; to a *base URL* paths are appended, such as https://api.openai.com/v1.

## Settings that many people change

With their defaults and allowed values:

${listOf(rows.filter(({ setting }) => setting.common === true))}

Features for \`MCP_PRUNER_ENABLE\`, off by default unless said otherwise:

${featuresOf(ownFeatures)
  .map(({ name, doc }) => `- \`${name}\`: ${doc}`)
  .join('\n')}
- of the [fleet](fleet.md): ${featuresOf(fleetFeatures)
    .map(({ name }) => `\`${name}\``)
    .join(', ')}

## Internal settings

Their defaults are measured; change one only for a reason. [config/default.toml](../config/default.toml) has the meaning, default and allowed
values of each. Only the environment may contain these:

${listOf(rows.filter(({ setting }) => setting.toml === null && setting.common !== true))}

## Backends

${BACKENDS}
`;
}

/** What backends are. */
const BACKENDS = `A backend scores lines against the goal, within the same bounds. If it fails, the local engine decides alone. A text is sent only if the
bounds allow a cut and there is a goal.

- \`deepinfra\` (alias \`cloud\`) receives \`{"queries": [goal, …], "documents": [line, …]}\` and returns \`scores\`. A score of 0.5 or more is used as
  is; below 0.5, only the order counts.
- \`swe-pruner\` receives \`{"code": text, "query": goal}\` and returns the text with lines left out (\`pruned_code\`, \`content\` or \`text\`);
  placeholders such as \`(filtered 12 lines)\` are understood.

Five failures of one kind in a row open a circuit breaker for 30 seconds; \`Retry-After\` is respected up to 60 seconds. \`/health\` shows
\`backend_state\`. \`prune_text\` then has \`backend\`, its latency, counts and \`cost_estimated_usd\` in \`stats\`, and warnings such as \`cache_hit\`
and \`deepinfra_http_error\`. The log has the same codes in \`fallbacks\`.`;

function listOf(entries: typeof rows): string {
  return entries.map(({ setting }) => pageLine(setting)).join('\n');
}

function pageLine(setting: Setting<unknown>): string {
  const { env, toml, unit, doc, flag } = setting;
  const allowed = setting.flag === 'enable' ? 'features' : allowedInShort(setting);
  const usualKey = env[0]?.replace(/^MCP_PRUNER_/, '').toLowerCase();
  const remarks = [
    setting.common && toml === null && allowed !== 'secret' ? 'Environment only.' : '',
    toml === null || toml === usualKey ? '' : `Key: \`${toml}\`.`,
    flag === undefined ? '' : `\`--${flag}\``,
  ];
  const meaning = [doc, ...remarks].filter((part) => part !== '').join(' ');
  const fallback =
    unit === undefined || setting.fallbackWords !== undefined
      ? defaultWords(setting)
      : `${defaultWords(setting)} ${unit}`;
  if (isGroup(setting)) {
    const entries = Object.values(setting.fields ?? {}).map(
      ({ env: names = [], doc: about }) => `${names.map((name) => `\`${name}\``).join(', ')}: ${about}`,
    );
    return `- ${doc} ${entries.join('; ')}.`;
  }
  const facts = allowed === 'switch' ? fallback : allowed === 'secret' ? 'secret' : `${fallback}; ${allowed}`;
  return `- ${env.map((name) => `\`${name}\``).join(', ')} (${facts}): ${meaning}`;
}

/** The features of a part. */
function featuresOf(group: object): typeof features {
  return features.filter(({ key }) => key in group);
}

/** Allowed values in the words that the page explains. */
function allowedInShort({ rule }: Setting<unknown>): string {
  return rule.allowed
    .replace(baseUrl().allowed, 'base URL')
    .replace(httpUrl().allowed, 'URL')
    .replace(headerSecret().allowed, 'secret')
    .replace(onOff().allowed, 'switch')
    .replace('or empty for none', 'or empty')
    .replace('; in the environment separated by commas', '')
    .replace(/^a list of /, '')
    .replace(/^a number /, '')
    .replace(/^a whole number, (\d+) or more$/, '≥$1')
    .replace(/^(?:a whole number from|one of) /, '')
    .replace(/^(?:from )?(\d+) to (\d+)/, '$1–$2')
    .replace(/^(\d+) on$/, '≥$1');
}

/** Settings that the image sets itself, or that would lead out of it. */
const OF_THE_IMAGE = new Set(['MCP_PRUNER_HOST', 'MCP_PRUNER_PORT', 'MCP_PRUNER_DB_PATH', 'MCP_PRUNER_LOCAL_TOKEN']);

/** `docker-compose.yml` with the list of settings that it passes on; everything else in it is as it stands there. */
export function composeFile(asItIs: string): string {
  const names = rows
    .flatMap(({ setting }) =>
      setting.onlyFields
        ? [...new Set(Object.values(setting.fields ?? {}).map((field) => field.env?.[0] ?? ''))]
        : setting.env.slice(0, 1),
    )
    .filter((name) => !OF_THE_IMAGE.has(name));
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
