/**
 * Thrown if the store cannot say how an answered message was sent, or whether the request's commit was written; `cause`
 * says why. Not a fault: the caller decides how long to wait for the store.
 */
export class HistoryUnknown extends Error {
  override readonly name = 'HistoryUnknown';

  /**
   * The conversation, if a provider may verify its history and a result that could have been cut was answered; otherwise
   * `null`. Sent whole, such a history would differ from what the provider has seen.
   */
  readonly boundConversation: string | null;

  constructor(cause: unknown, boundConversation: string | null = null) {
    super('history_unknown', { cause });
    this.boundConversation = boundConversation;
  }
}
