import { UserError } from '../errors/errors.ts';

/** An unusable configuration. Each problem is one line with the key, the allowed values and the remedy. */
export class SettingsError extends UserError {
  override readonly name = 'SettingsError';

  constructor(problems: readonly string[]) {
    super(problems, undefined, 2);
  }
}
