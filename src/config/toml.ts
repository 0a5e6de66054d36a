import { parse, TomlError } from 'smol-toml';
import { nearest } from './nearest.ts';
import { retiredWarning } from './retired.ts';
import { keysOf, type SettingRow } from './settings.ts';

export const SECTION = 'mcp_pruner';

const SECRET_NAME = /(?:api[_-]?key|secret|passw|credential|private[_-]?key|authorization|bearer|token$)/i;

/** Contents of a configuration file by key, problems that prevent the start, and warnings (one line each). */
interface TomlFile {
  readonly values: ReadonlyMap<string, unknown>;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Parses a configuration file. Problem lines contain no values, because a value may be a misplaced secret. */
export function readToml(text: string, file: string, rows: readonly SettingRow[]): TomlFile {
  const known = new Set(rows.flatMap(({ setting }) => keysOf(setting)));
  let root: Record<string, unknown>;
  try {
    root = parse(text);
  } catch (cause) {
    const where = cause instanceof TomlError ? `:${cause.line}:${cause.column}` : '';
    const why = cause instanceof TomlError ? tomlReason(cause) : 'it cannot be read';
    return { values: new Map(), warnings: [], problems: [`${file}${where} is not valid TOML: ${why}`] };
  }

  const { [SECTION]: section, ...others } = root;
  const problems = Object.entries(others).flatMap(([name, value]) => outsideProblems(name, value, file, rows));
  const warnings: string[] = [];
  const values = new Map<string, unknown>();
  if (section !== undefined && !isTable(section)) {
    problems.push(`${file}: ${SECTION} must be a table: [${SECTION}]`);
  }
  for (const [name, value] of Object.entries(isTable(section) ? section : {})) {
    const path = `${SECTION}.${name}`;
    const secret = known.has(name) ? null : secretPath(name, value, path);
    if (known.has(name)) values.set(name, value);
    else if (secret !== null) problems.push(secretProblem(secret, file, rows));
    else warnings.push(retiredWarning(name, `${file}: ${path}`) ?? unknownWarning(name, `${file}: ${path}`, known));
  }
  return { values, problems, warnings };
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** The parser's message without quoted lines of the file. */
function tomlReason(error: TomlError): string {
  const [reason] = error.message.split('\n', 1);
  return (reason ?? '').replace(/^Invalid TOML document: /, '');
}

function unknownWarning(name: string, shown: string, known: Iterable<string>): string {
  const meant = nearest(name, known);
  const hint = meant === null ? 'config/default.toml lists all keys' : `did you mean ${meant}?`;
  return `${shown} is not a setting and is ignored: ${hint}`;
}

function outsideProblems(name: string, value: unknown, file: string, rows: readonly SettingRow[]): string[] {
  const secret = secretPath(name, value, name);
  if (secret !== null) return [secretProblem(secret, file, rows)];
  const what = isTable(value) ? `section [${name}] is` : `${name} is`;
  return [`${file}: ${what} not known: every setting belongs below [${SECTION}]`];
}

function secretProblem(path: string, file: string, rows: readonly SettingRow[]): string {
  const row = rows.find(
    ({ setting }) => setting.secret && path.toLowerCase() === `${SECTION}.${tomlTwin(setting.env[0])}`,
  );
  const where = row === undefined ? 'an environment variable' : `the environment variable ${row.setting.env[0]}`;
  return `${file}: ${path} looks like a secret, and secrets are not allowed in the file: remove it and use ${where}`;
}

/** The TOML key that a user would expect for a variable: `DEEPINFRA_API_KEY` as `deepinfra_api_key`. */
function tomlTwin(variable: string): string {
  return variable.toLowerCase().replace(/^mcp_pruner_/, '');
}

/** Path of the first secret-like key at or below an unknown key. */
function secretPath(name: string, value: unknown, path: string): string | null {
  if (SECRET_NAME.test(name)) return path;
  if (!isTable(value)) return null;
  for (const [inner, innerValue] of Object.entries(value)) {
    const found = secretPath(inner, innerValue, `${path}.${inner}`);
    if (found !== null) return found;
  }
  return null;
}
