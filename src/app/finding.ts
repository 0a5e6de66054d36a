/** A finding about an installation; `advice` says what to do. Only failures make `doctor` exit with 1. */
export interface Finding {
  readonly level: 'ok' | 'note' | 'failure';
  readonly what: string;
  readonly advice?: string;
}
