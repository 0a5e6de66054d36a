import { fleetSettings } from '../fleet/seat/settings.ts';
import { keysSettings } from '../keys/seat/settings.ts';

/** The settings of extensions. */
export const extensionSettings = { ...keysSettings, ...fleetSettings };
