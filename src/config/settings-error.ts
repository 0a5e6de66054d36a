import { UserError } from '../errors/errors.ts';

/** Invalid configuration. Each problem is one line with key, allowed values and remedy. */
export class SettingsError extends UserError {
  override readonly name = 'SettingsError';

  constructor(problems: readonly string[]) {
    super(problems, undefined, 2);
  }
}
