/**
 * The store cannot say how an answered message was sent, or whether the commit of this request was written; `cause`
 * says why. This is not a fault: the caller decides how long to wait for the store.
 */
export class HistoryUnknown extends Error {
  override readonly name = 'HistoryUnknown';

  /** The provider may verify this history. */
  readonly isBound: boolean;

  constructor(cause: unknown, isBound = false) {
    super('history_unknown', { cause });
    this.isBound = isBound;
  }
}
