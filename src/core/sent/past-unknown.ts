/**
 * Nobody can be asked how something of a request was sent that was answered already, or whether what was about to be sent of
 * it is in the store now; `cause` says why. No fault: whoever asked for it decides how long to wait.
 */
export class PastUnknown extends Error {
  override readonly name = 'PastUnknown';

  constructor(cause: unknown) {
    super('past_unknown', { cause });
  }
}
