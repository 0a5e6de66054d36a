import { UserError } from '../errors.ts';

/** The configuration cannot be used. Each problem is one line that names the key, what is allowed and what to do. */
export class SettingsError extends UserError {
  override readonly name = 'SettingsError';

  constructor(problems: readonly string[]) {
    super(problems, undefined, 2);
  }
}
