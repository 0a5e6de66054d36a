import { type Edition, partTools } from '../app/part.ts';
import type { SettingKey, SettingTable } from '../config/settings.ts';
import { type Call, type Option, textOption, UsageError } from './command.ts';

type Options = Readonly<Record<string, Option>>;

/** `--enable-X` and `--disable-X` options of all toggles. */
export function toggleOptions({ rows }: SettingTable): Options {
  return Object.fromEntries(
    rows.flatMap(({ setting: { toggle, doc, fallback } }): [string, Option][] =>
      toggle === undefined
        ? []
        : [
            [`enable-${toggle}`, { type: 'boolean', doc: `${doc} (default ${fallback ? 'on' : 'off'})` }],
            [`disable-${toggle}`, { type: 'boolean', doc: `the opposite of --enable-${toggle}` }],
          ],
    ),
  );
}

/** Setting options shown by `serve --help`; `--help --all` shows the others too. */
export function commonOptions(edition: Edition): readonly string[] {
  return [
    ...['host', 'port', 'upstream-url', 'anthropic-url', 'gemini-url', 'db-path', 'mode', 'log-level', 'holdout'],
    ...partTools(edition).map(({ flag }) => flag.slice(2)),
  ];
}

/** Options of settings with a value. */
export function flagOptions({ rows }: SettingTable): Options {
  return Object.fromEntries(
    rows.flatMap(({ setting: { flag, doc, fallback, fallbackWords } }): [string, Option][] =>
      flag === undefined
        ? []
        : [
            [
              flag,
              { type: 'string', value: `<${flag}>`, doc: `${doc} (default ${fallbackWords ?? String(fallback)})` },
            ],
          ],
    ),
  );
}

/** Settings given by such options. @throws UsageError for conflicting ones */
export function flagsOf(call: Call, { rows }: SettingTable): Partial<Record<SettingKey, string>> {
  const flags: Partial<Record<SettingKey, string>> = {};
  for (const { key, setting } of rows) {
    const { flag, toggle } = setting;
    const text = flag === undefined ? undefined : textOption(call, flag);
    if (text !== undefined) flags[key] = text;
    if (toggle === undefined) continue;
    const [on, off] = [call.values[`enable-${toggle}`] === true, call.values[`disable-${toggle}`] === true];
    if (on && off) throw new UsageError(`--enable-${toggle} and --disable-${toggle} exclude each other`);
    if (on || off) flags[key] = String(on);
  }
  return flags;
}
