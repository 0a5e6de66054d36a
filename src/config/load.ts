import { errorCode } from '../base/causes.ts';
import { nearest } from './nearest.ts';
import { absolutePath, defaultConfigFile, defaultDbPath, folderOf, type Place } from './paths.ts';
import { replacedValue, retiredWarning } from './retired.ts';
import type { Rule } from './rules.ts';
import type { Setting } from './settings/setting.ts';
import {
  featuresOn,
  otherVariables,
  type SettingKey,
  type Settings,
  type SettingTable,
  variablesOf,
} from './settings.ts';
import { SettingsError } from './settings-error.ts';
import { isTable, readToml, SECTION } from './toml.ts';
import { isLoopbackHost, settingsWarnings } from './warnings.ts';

/** Source of a value. `name` is the variable, option, file, or implying setting. */
export interface Origin {
  readonly from: 'default' | 'file' | 'env' | 'flag' | 'implied';
  readonly name: string;
}

type Origins = { readonly [K in SettingKey]: Origin };

export interface LoadInput extends Place {
  readonly table: SettingTable;
  /** Reads a file; throws like `fs.readFileSync`. */
  readonly readFile: (path: string) => string;
  readonly configFile?: string | undefined;
  readonly flags?: Readonly<Partial<Record<SettingKey, string>>>;
  /** Features added to or left out of `enable` on the command line. */
  readonly switches?: Readonly<Record<string, boolean>>;
}

export interface Loaded {
  readonly settings: Settings;
  readonly origins: Origins;
  /** One line per problem that does not prevent the start. */
  readonly warnings: readonly string[];
  /** Configuration file that was read; `null` if there is none. */
  readonly configFile: string | null;
  readonly table: SettingTable;
}

interface GivenValue {
  readonly value: unknown;
  readonly origin: Origin;
}

/**
 * Reads the configuration: command line over environment over TOML file over default.
 *
 * @throws SettingsError with every problem found
 */
export function loadSettings(input: LoadInput): Loaded {
  const file = readConfigFile(input);
  const problems = [...file.problems];
  const warnings = [...file.warnings, ...unknownVariables(input)];
  const values: Partial<Record<SettingKey, unknown>> = {};
  const origins: Partial<Record<SettingKey, Origin>> = {};

  const switches = Object.entries(input.switches ?? {}).map(([name, value]): [string, GivenValue] => [
    name,
    { value, origin: { from: 'flag', name: `--${value ? 'enable' : 'disable'}-${name}` } },
  ]);
  for (const { key, setting } of input.table.rows) {
    const own = setting.onlyFields
      ? null
      : (fromFlag(input, key, setting) ?? fromEnv(input, setting) ?? fromFile(file, setting));
    const alone = fieldsGiven(input, file, setting, { problems, warnings });
    const found = key === 'enable' ? withSwitches(own, new Map([...alone, ...switches])) : withFields(own, alone);
    const replaced = found && replacedValue(setting.toml, found.value);
    if (replaced) warnings.push(`${found.origin.name} = ${found.value} is read as ${replaced[0]}: ${replaced[1]}`);
    const given = replaced ? { ...found, value: replaced[0] } : found;
    const result = given === null ? null : setting.rule.schema.safeParse(given.value);
    values[key] = result?.success ? result.data : setting.fallback;
    origins[key] = result?.success && given !== null ? given.origin : { from: 'default', name: '' };
    if (given === null || result?.success !== false) continue;
    if (given.origin.from === 'env' && setting.invalidEnvFallback !== undefined) {
      values[key] = setting.invalidEnvFallback;
      origins[key] = given.origin;
      warnings.push(`${wrongValue(given, setting)}; ${String(setting.invalidEnvFallback)} is used`);
    } else problems.push(`${wrongValue(given, setting)}; correct or remove it (default: ${defaultWords(setting)})`);
  }
  if (problems.length > 0) throw new SettingsError(problems);

  const { settings, allOrigins } = finish(input, values as Settings, origins as Origins, file.path);
  return {
    settings,
    origins: allOrigins,
    warnings: [...warnings, ...settingsWarnings(settings)],
    configFile: file.path,
    table: input.table,
  };
}

/** Fills in defaults that depend on the machine or other settings, and freezes the result. */
function finish(input: LoadInput, values: Settings, origins: Origins, configFile: string | null) {
  const base = origins.dbPath.from === 'file' && configFile !== null ? folderOf(input, configFile) : input.cwd;
  const dbPath = values.dbPath === '' ? defaultDbPath(input) : storePath(input, values.dbPath, base);
  const implied: Record<string, readonly [unknown, Origin]> = {};
  const imply = (key: SettingKey, value: unknown, by: SettingKey): void => {
    if (origins[key].from === 'default') implied[key] = [value, { from: 'implied', name: origins[by].name }];
  };
  // the page is only exposed to other machines if explicitly configured
  if (!isLoopbackHost(values.host)) imply('page', false, 'host');
  // titles are words of a user, so they are only kept where nobody else reads them
  if (!isLoopbackHost(values.host)) imply('conversationTitles', false, 'host');
  if (values.databaseUrl !== null) imply('conversationTitles', false, 'databaseUrl');
  for (const part of input.table.parts) for (const row of part.implied?.(values) ?? []) imply(...row);
  if (values.swePrunerUrl !== null) imply('backend', 'swe-pruner', 'swePrunerUrl');
  const entries = Object.entries(implied);
  const settings: Settings = {
    ...values,
    dbPath,
    enable: featuresOn(input.table, values.enable),
    ...Object.fromEntries(entries.map(([key, [value]]) => [key, value])),
  };
  const allOrigins: Origins = { ...origins, ...Object.fromEntries(entries.map(([key, [, origin]]) => [key, origin])) };
  for (const value of Object.values(settings)) if (Array.isArray(value)) Object.freeze(value);
  return { settings: Object.freeze(settings), allOrigins: Object.freeze(allOrigins) };
}

/** `:memory:`, SQLite's name for an in-memory store, is not a path. */
function storePath(input: LoadInput, path: string, base: string): string {
  return path === ':memory:' ? path : absolutePath(input, path, base);
}

interface ConfigFile {
  readonly path: string | null;
  readonly values: ReadonlyMap<string, unknown>;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** An explicitly named file must be readable; the default file is optional. */
function readConfigFile(input: LoadInput): ConfigFile {
  const fromEnvironment = input.env.MCP_PRUNER_CONFIG?.trim() || undefined;
  const named = input.configFile ?? fromEnvironment;
  const path = named === undefined ? defaultConfigFile(input) : absolutePath(input, named);
  let text: string;
  try {
    text = input.readFile(path);
  } catch (cause) {
    const code = errorCode(cause) || 'error';
    const nothing = { path: null, values: new Map(), problems: [], warnings: [] };
    if (named !== undefined) {
      const asker = input.configFile !== undefined ? '--config' : 'MCP_PRUNER_CONFIG';
      const problem = `cannot read the configuration file ${path} (named by ${asker}): ${code}; correct the path or the permissions`;
      return { ...nothing, problems: [problem] };
    }
    if (code === 'ENOENT' || code === 'ENOTDIR') return nothing;
    return { ...nothing, warnings: [`the configuration file ${path} cannot be read (${code}) and is ignored`] };
  }
  return { path, ...readToml(text, path, input.table.rows) };
}

function fromFlag(input: LoadInput, key: SettingKey, { flag, rule }: Setting<unknown>): GivenValue | null {
  const text = input.flags?.[key];
  return text === undefined ? null : { value: rule.fromText(text.trim()), origin: { from: 'flag', name: `--${flag}` } };
}

interface Names {
  readonly env?: readonly string[];
  readonly toml?: string | null;
  readonly rule: Rule<unknown>;
}

function fromEnv(input: LoadInput, { env = NO_NAMES, rule }: Names): GivenValue | null {
  for (const name of env) {
    const text = input.env[name]?.trim();
    if (text === undefined || (text === '' && !rule.emptyIsValue)) continue;
    return { value: rule.fromText(text), origin: { from: 'env', name } };
  }
  return null;
}

function fromFile(file: ConfigFile, { toml = null }: Names): GivenValue | null {
  if (toml === null || !file.values.has(toml)) return null;
  return { value: file.values.get(toml), origin: { from: 'file', name: `${file.path}: ${SECTION}.${toml}` } };
}

/** The value of a setting, completed by fields that are given alone; entries of the value itself win. */
function withFields(own: GivenValue | null, alone: ReadonlyMap<string, GivenValue>): GivenValue | null {
  const [first] = alone.values();
  const origin = own?.origin ?? first?.origin;
  if (origin === undefined || (own !== null && !isTable(own.value))) return own;
  const values = Object.fromEntries([...alone].map(([name, { value }]) => [name, value]));
  return { value: { ...values, ...(own?.value as object) }, origin };
}

/** The list of `enable` with its switches, which win over it. */
function withSwitches(own: GivenValue | null, switches: ReadonlyMap<string, GivenValue>): GivenValue | null {
  const [first] = switches.values();
  const listed = own?.value ?? [];
  if (first === undefined || !Array.isArray(listed)) return own;
  const others = listed.filter((word) => !switches.has(String(word).replace(/^-/, '')));
  const words = [...switches].map(([name, { value }]) => (value === true ? name : `-${name}`));
  return { value: [...others, ...words], origin: own?.origin ?? first.origin };
}

/** Valid values of the fields that are given alone, by name. */
function fieldsGiven(
  input: LoadInput,
  file: ConfigFile,
  { fields = {}, secret, env, invalidEnvFallback }: Setting<unknown>,
  { problems, warnings }: Record<'problems' | 'warnings', string[]>,
): Map<string, GivenValue> {
  const given = new Map<string, GivenValue>();
  for (const [name, field] of Object.entries(fields)) {
    const found = fromEnv(input, field) ?? fromFile(file, field);
    if (found === null) continue;
    const isValid = field.rule.schema.safeParse(found.value).success;
    if (isValid) given.set(name, found);
    else if (invalidEnvFallback === undefined)
      problems.push(`${wrongValue(found, { ...field, secret })}; correct or remove it`);
    else warnings.push(`${wrongValue(found, { ...field, secret })}; it is ignored`);
    if (field.retired)
      warnings.push(`${found.origin.name} will go; use ${found.value === false ? `-${name}` : name} in ${env[0]}`);
  }
  return given;
}

function wrongValue({ value, origin }: GivenValue, setting: Pick<Setting<unknown>, 'rule' | 'secret'>): string {
  const shown = setting.secret ? '(hidden)' : shownValue(value);
  return `${origin.name} = ${shown} is not valid: allowed is ${setting.rule.allowed}`;
}

/** Formats a value for display on one line: short, without control characters and possible secrets in URLs. */
function shownValue(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : (JSON.stringify(value) ?? String(value));
  const harmless = withoutSecrets(text).replaceAll(/\p{Cc}/gu, ' ');
  return harmless.length > 80 ? `${harmless.slice(0, 80)}…` : harmless;
}

/** Removes user name, password and query from URLs, because they may contain a key. */
function withoutSecrets(text: string): string {
  const [scheme = '', ...rest] = text.slice(0, 10_000).split('://');
  if (rest.length === 0) return scheme;
  const behind = rest.join('://');
  const end = behind.search(/[/?#]/);
  const authority = end < 0 ? behind : behind.slice(0, end);
  const at = authority.lastIndexOf('@');
  const shown = at < 0 ? authority : `***${authority.slice(at)}`;
  return `${scheme}://${shown}${end < 0 ? '' : behind.slice(end).replace(/[?#][^"]*/, '?***')}`;
}

export function defaultWords(setting: Setting<unknown>): string {
  if (setting.fallbackWords !== undefined) return setting.fallbackWords;
  if (setting.fallback === null) return 'none';
  if (Array.isArray(setting.fallback) && setting.fallback.length === 0) return 'none';
  return String(setting.fallback);
}

const PREFIX = 'MCP_PRUNER_';
const NO_NAMES: readonly string[] = [];

/** Warns about unknown variables, which may be misspelled. */
function unknownVariables({ env, table }: LoadInput): string[] {
  const knownNames = new Set([...table.rows.flatMap(({ setting }) => variablesOf(setting)), ...otherVariables]);
  const suffixes = [...knownNames].filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !knownNames.has(name))
    .map((name) => {
      const retired = retiredWarning(name.slice(PREFIX.length).toLowerCase(), name);
      if (retired !== null) return retired;
      // the common prefix must not make names similar
      const meant = nearest(name.slice(PREFIX.length), suffixes);
      return `${name} is not a setting and is ignored${meant === null ? '' : `: did you mean ${PREFIX}${meant}?`}`;
    });
}
