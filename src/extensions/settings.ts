/** The settings of extensions. */
export { fleetSettings as extensionSettings } from '../fleet/seat/settings.ts';
