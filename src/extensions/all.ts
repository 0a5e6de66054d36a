import type { Settings } from '../config/settings.ts';
import { fleet } from '../fleet/seat/extension.ts';
import type { Extension, Toggle } from './extension.ts';

/** All extensions. A new one is a row here, and its rows of errors, settings and views in the files beside. */
export const extensions: readonly Extension[] = [fleet];

/** The toggles of all extensions, each with its option. */
export const toggles: readonly (readonly [Toggle, string])[] = extensions.flatMap(
  (one) => Object.entries(one.toggles) as [Toggle, string][],
);

/** Sets of tools that a client can ask for by one name (`/rpc?tools=fleet-lead`). */
export const toolProfiles: Readonly<Record<string, readonly string[]>> = Object.assign(
  {},
  ...extensions.map(({ profiles }) => profiles),
);

/** The extensions that have a toggle on and must be loaded. */
export function extensionsOn(settings: Settings): readonly Extension[] {
  return extensions.filter((one) => Object.keys(one.toggles).some((toggle) => settings[toggle as Toggle]));
}
