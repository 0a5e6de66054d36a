import type { Finding } from '../../app/finding.ts';
import type { Settings } from '../../config/settings.ts';
import type { Io } from '../command.ts';

/** A check of the configuration that needs no running proxy. */
export type Check = (settings: Settings, io: Io) => Promise<readonly Finding[]>;
