import type { Settings } from '../../config/settings.ts';
import type { Io } from '../command.ts';

/** A finding of `doctor`; `advice` says what to do. Only a failure makes the exit code 1. */
export interface Finding {
  readonly level: 'ok' | 'note' | 'failure';
  readonly what: string;
  readonly advice?: string;
}

/** A check of the configuration that needs no running proxy. */
export type Check = (settings: Settings, io: Io) => Promise<readonly Finding[]>;
