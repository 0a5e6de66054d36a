import { type Loaded, loadSettings } from '../config/load.ts';
import type { SettingKey } from '../config/settings.ts';
import { type Call, type Io, textOption } from './command.ts';
import { switchesOf } from './setting-options.ts';

/**
 * Loads the configuration for a command.
 *
 * @param flags - settings from the command line
 * @throws SettingsError
 */
export function readSettings(call: Call, io: Io, flags: Partial<Record<SettingKey, string>> = {}): Loaded {
  const { env, platform, homeDir, cwd, readFile, edition } = io;
  const { settings: table } = edition;
  const given = { configFile: textOption(call, 'config'), flags, switches: switchesOf(call, table) };
  return loadSettings({ table, env, platform, homeDir, cwd, readFile, ...given });
}
