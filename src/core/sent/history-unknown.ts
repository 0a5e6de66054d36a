/**
 * The store cannot say how an answered message was sent, or whether the commit of this request was written; `cause`
 * says why. This is not a fault: the caller decides how long to wait for the store.
 */
export class HistoryUnknown extends Error {
  override readonly name = 'HistoryUnknown';

  constructor(cause: unknown) {
    super('history_unknown', { cause });
  }
}
