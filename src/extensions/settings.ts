import { fleetSettings } from '../parts/fleet/seat/settings.ts';
import { keysSettings } from '../parts/team/keys/seat/settings.ts';

/** The settings of extensions. */
export const extensionSettings = { ...keysSettings, ...fleetSettings };
