/**
 * The store cannot say how an answered message was sent, or whether the commit of this request was written; `cause`
 * says why. This is not a fault: the caller decides how long to wait for the store.
 */
export class HistoryUnknown extends Error {
  override readonly name = 'HistoryUnknown';

  /** @param isBound - whether the provider may verify this history */
  constructor(
    cause: unknown,
    readonly isBound = false,
  ) {
    super('history_unknown', { cause });
  }
}
