import type { Logger } from 'pino';
import type { FailureReporter } from '../failures.ts';

/** The consequence of each failure, and how it is reported. */
const parts = {
  keys: { level: 'warn', message: 'keys' },
  pruning: { level: 'warn', message: 'pruning fell back' },
  forwarding: { level: 'warn', message: 'forwarded as it came' },
  segments: { level: 'warn', message: 'context not kept' },
  recall: { level: 'warn', message: 'results could not be kept for recall' },
  compactions: { level: 'warn', message: 'a compaction could not be noted' },
  shelf: { level: 'warn', message: 'tools could not be noted' },
  answers: { level: 'warn', message: 'an answer could not be kept' },
  events: { level: 'warn', message: 'events could not be written' },
  ledger: { level: 'error', message: 'the ledger' },
  counts: { level: 'debug', message: 'the provider did not count' },
  reports: { level: 'warn', message: 'a request could not be reported' },
  subscriptions: { level: 'debug', message: 'a resource could not be looked at' },
  upkeep: { level: 'debug', message: 'upkeep of the store failed' },
  rpc: { level: 'error', message: 'rpc failed' },
  prune: { level: 'error', message: 'prune failed' },
  child: { level: 'error', message: 'request of a child failed' },
  admin: { level: 'error', message: 'the admin API could not answer' },
  page: { level: 'error', message: 'the page could not answer' },
  loading: { level: 'error', message: 'a part of the program could not be loaded: restart it' },
} as const;

/** The only place that reports failures of background work. */
export class Failures {
  readonly #log: Pick<Logger, 'debug' | 'warn' | 'error'>;

  constructor(log: Pick<Logger, 'debug' | 'warn' | 'error'>) {
    this.#log = log;
  }

  /** The failure reporter of a part, or of an extension by its name. */
  of(part: keyof typeof parts | { readonly extension: string }): FailureReporter {
    const { level, message } =
      typeof part === 'string' ? parts[part] : ({ level: 'warn', message: part.extension } as const);
    return (reason, err, about) => {
      try {
        this.#log[level]({ ...about, reason, err }, message);
      } catch {
        // the log itself failed, and its caller must not fail
      }
    };
  }
}
