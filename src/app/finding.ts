/** A finding about an installation; `advice` says what to do. Only a failure makes the exit code of `doctor` 1. */
export interface Finding {
  readonly level: 'ok' | 'note' | 'failure';
  readonly what: string;
  readonly advice?: string;
}
