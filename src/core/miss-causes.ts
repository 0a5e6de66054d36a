import type { ColdFigures } from './ports/compactions.ts';
import type { MissCause } from './ports/ledger.ts';

/** A cause of cache misses in words, and what the user can do about it. */
interface MissWords {
  readonly name: string;
  readonly about: string;
  /** `''` if nothing has to be done. */
  readonly action: string;
}

const WORDS: Readonly<Record<MissCause, MissWords>> = {
  first_request: { name: 'first request', about: 'nothing was cached yet', action: '' },
  expired: { name: 'expired', about: 'the pause was longer than the cache lives', action: '' },
  model_changed: {
    name: 'model changed',
    about: 'each model has a cache of its own',
    action: 'change the model between tasks, not within one',
  },
  tools_changed: {
    name: 'tools changed',
    about: 'the client sent another list of tools',
    action: 'connect and disconnect MCP servers before a session, not during it',
  },
  system_changed: {
    name: 'system prompt changed',
    about: 'the client sent another system prompt',
    action: 'keep changing facts, such as the time or a branch, out of its instructions',
  },
  message_changed: {
    name: 'past changed',
    about: 'the client changed a message that was sent before',
    action: 'say what was wrong in a new message, or go back and edit only when it saves more than it costs',
  },
  compacted: {
    name: 'began with a summary',
    about: 'the first request after a compaction: all of it was new to the cache',
    action: 'compact where one task ends and the next begins',
  },
  put_aside: {
    name: 'put aside',
    about: 'old results were put aside or put back: later turns are cheaper',
    action: '',
  },
  changed_by_us: {
    name: 'changed by mcp-pruner',
    about: 'a fault',
    action: 'please report it with the log',
  },
  unknown: { name: 'unknown', about: 'the provider did not read what it could have', action: '' },
};

/** Describes a cause; an unknown one (of a newer version) is its own name. */
export function missWords(cause: string): MissWords {
  return Object.hasOwn(WORDS, cause) ? WORDS[cause as MissCause] : { name: cause, about: '', action: '' };
}

/**
 * What a cache lifetime of an hour would have changed, with the pauses that there were.
 *
 * @param money - formats dollars
 */
export function hourCacheWords({ hour_cache: { cost, saved } }: ColdFigures, money: (usd: number) => string): string {
  if (saved <= cost) return `an hour's cache would cost ${money(cost - saved)} more: leave it as it is`;
  return `an hour's cache would save ${money(saved - cost)}: set ENABLE_PROMPT_CACHING_1H=1 for Claude Code, or the cache lifetime of another client`;
}

/**
 * What the user can do about a cause.
 *
 * @param cold - the cost of pauses, which decides about a longer cache lifetime
 */
export function missAction(cause: string, cold: ColdFigures | undefined, money: (usd: number) => string): string {
  return cause === 'expired' && cold !== undefined && cold.requests > 0
    ? hourCacheWords(cold, money)
    : missWords(cause).action;
}
