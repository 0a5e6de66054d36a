/**
 * Thrown if the store cannot say how an answered message was sent, or whether the request's commit was written; `cause`
 * says why. Not a fault: the caller decides how long to wait for the store.
 */
export class HistoryUnknown extends Error {
  override readonly name = 'HistoryUnknown';

  constructor(cause: unknown) {
    super('history_unknown', { cause });
  }
}
