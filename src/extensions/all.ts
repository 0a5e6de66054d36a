import type { Settings } from '../config/settings.ts';
import { fleet } from '../parts/fleet/seat/extension.ts';
import { keys } from '../parts/team/keys/seat/extension.ts';
import type { Extension, Toggle, Transport } from './extension.ts';

/**
 * All extensions, in the order in which their doors admit requests. A new extension is a row here, and rows of errors,
 * settings, commands and views in the other files of this folder.
 */
export const extensions: readonly Extension[] = [fleet, keys];

/** Facts about the tools of all extensions. */
export const extensionTools = extensions.flatMap(({ name, tools }) => (tools ? { extension: name, ...tools } : []));

/** The toggles of all extensions, each with its option. */
export const toggles: readonly (readonly [Toggle, string])[] = extensionTools.flatMap(
  (one) => Object.entries(one.toggles) as [Toggle, string][],
);

/** Sets of tools that a client can ask for by one name (`/rpc?tools=fleet-lead`). */
export const toolProfiles: Readonly<Record<string, readonly string[]>> = Object.assign(
  {},
  ...extensionTools.map(({ profiles }) => profiles),
);

/** The extensions that a process opens. */
export function extensionsOn(settings: Settings, transport: Transport): readonly Extension[] {
  return extensions.filter((one) => one.isOn(settings, transport));
}
