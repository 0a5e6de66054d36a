import { rows, type SettingKey } from '../config/settings.ts';
import { extensionTools } from '../extensions/all.ts';
import { type Call, type Option, textOption, UsageError } from './command.ts';

const flagRows = rows.flatMap(({ key, setting }) =>
  setting.flag === undefined ? [] : [{ key, setting, flag: setting.flag }],
);

const toggleRows = rows.flatMap(({ key, setting }) =>
  setting.toggle === undefined ? [] : [{ key, setting, toggle: setting.toggle }],
);

/** `--enable-X` and `--disable-X` of every setting that has them. */
export const toggleOptions = Object.fromEntries(
  toggleRows.flatMap(({ toggle, setting }): [string, Option][] => [
    [`enable-${toggle}`, { type: 'boolean', doc: `${setting.doc} (default ${setting.fallback ? 'on' : 'off'})` }],
    [`disable-${toggle}`, { type: 'boolean', doc: `the opposite of --enable-${toggle}` }],
  ]),
);

/** The options of settings that `serve --help` shows; `--help --all` shows the others as well. */
export const COMMON_OPTIONS = [
  ...['host', 'port', 'upstream-url', 'anthropic-url', 'gemini-url', 'db-path', 'mode', 'log-level', 'holdout'],
  ...extensionTools.map(({ flag }) => flag.slice(2)),
];

/** Options of settings with a value. */
export const flagOptions = Object.fromEntries(
  flagRows.map(({ flag, setting }): [string, Option] => [
    flag,
    {
      type: 'string',
      value: `<${flag}>`,
      doc: `${setting.doc} (default ${setting.fallbackWords ?? String(setting.fallback)})`,
    },
  ]),
);

/** The settings that a command line gives by such options. @throws UsageError for two that exclude each other */
export function flagsOf(call: Call): Partial<Record<SettingKey, string>> {
  const flags: Partial<Record<SettingKey, string>> = {};
  for (const { key, flag } of flagRows) {
    const text = textOption(call, flag);
    if (text !== undefined) flags[key] = text;
  }
  for (const { key, toggle } of toggleRows) {
    const [on, off] = [call.values[`enable-${toggle}`] === true, call.values[`disable-${toggle}`] === true];
    if (on && off) throw new UsageError(`--enable-${toggle} and --disable-${toggle} exclude each other`);
    if (on || off) flags[key] = String(on);
  }
  return flags;
}
