import { type Edition, partTools } from '../app/guest.ts';
import type { SettingKey, SettingTable } from '../config/settings.ts';
import { type Call, flag, type Option, textOption, UsageError, valued } from './command.ts';

type Options = Readonly<Record<string, Option>>;

export function toggleOptions({ features }: SettingTable): Options {
  return Object.fromEntries(
    features.flatMap(({ name, doc }): [string, Option][] => [
      [`enable-${name}`, flag(doc)],
      [`disable-${name}`, flag(`the opposite of --enable-${name}`)],
    ]),
  );
}

/** Setting options shown by `serve --help`; `--help --all` shows the others too. */
export function commonOptions(edition: Edition): readonly string[] {
  return [
    ...['host', 'port', 'upstream-url', 'anthropic-url', 'gemini-url', 'db-path', 'mode', 'log-level', 'holdout'],
    ...partTools(edition).map(({ flag }) => flag.slice(2)),
  ];
}

export function flagOptions({ rows }: SettingTable): Options {
  return Object.fromEntries(
    rows.flatMap(({ setting: { flag, doc, fallback, fallbackWords } }): [string, Option][] =>
      flag === undefined ? [] : [[flag, valued(`<${flag}>`, `${doc} (default ${fallbackWords ?? String(fallback)})`)]],
    ),
  );
}

export function flagsOf(call: Call, { rows }: SettingTable): Partial<Record<SettingKey, string>> {
  const flags: Partial<Record<SettingKey, string>> = {};
  for (const { key, setting } of rows) {
    const text = setting.flag === undefined ? undefined : textOption(call, setting.flag);
    if (text !== undefined) flags[key] = text;
  }
  return flags;
}

/** Features switched by `--enable-X` and `--disable-X`. @throws UsageError for both of one feature */
export function switchesOf(call: Call, { features }: SettingTable): Record<string, boolean> {
  const switches: Record<string, boolean> = {};
  for (const { name } of features) {
    const [on, off] = [call.values[`enable-${name}`] === true, call.values[`disable-${name}`] === true];
    if (on && off) throw new UsageError(`--enable-${name} and --disable-${name} exclude each other`);
    if (on || off) switches[name] = on;
  }
  return switches;
}
