import { type ForcedReason, forcedReason, forcedWords } from '../errors/passed-whole.ts';

/** Likely cause why requests with large tool results save nothing, derived from counts. */
type AlarmCause =
  | ForcedReason
  | ('unknown_frame' | 'left_alone' | 'settings' | 'client_truncates' | 'signed' | 'unknown');

/** An active alarm: a series of large requests saved nothing. */
export interface SavingAlarm {
  readonly cause: AlarmCause;
  readonly requests: number;
  /** The most frequent code of `AlarmCounts.codes`. */
  readonly code: string;
}

/** Counts since the last request that saved something. */
interface AlarmCounts {
  /** Requests with large results. */
  readonly requests: number;
  /** Requests by code: a fallback code, a reason why texts were left whole, or one of `WATCHED`. */
  readonly codes: ReadonlyMap<string, number>;
}

/** The settings that can stop all cuts. */
export interface AlarmSettings {
  /** `false` if the kill switch is on. */
  readonly enabled: boolean;
  readonly shadow: boolean;
  /** The minimum text sizes do not exceed the defaults. */
  readonly hasDefaultSizes: boolean;
}

/** Codes for requests without a fallback code whose texts have no reason code. */
export const WATCHED = {
  /** Pruning is off: by the kill switch, or by a header of the request. */
  off: 'off',
  /** No text in the request belongs to a tool call. */
  noCall: 'no_call',
  /** A long conversation without any large result. */
  noLargeResult: 'no_large_result',
} as const;

const CAUSES: ReadonlyMap<string, AlarmCause> = new Map([
  [WATCHED.noCall, 'unknown_frame'],
  ['body_not_understood', 'unknown_frame'],
  ['frame_not_understood', 'unknown_frame'],
  ['path_not_understood', 'unknown_frame'],
  ['encoding_not_understood', 'unknown_frame'],
  ['left_alone', 'left_alone'],
  ['signed_by_client', 'signed'],
  ['not_signed', 'signed'],
  [WATCHED.noLargeResult, 'client_truncates'],
  [WATCHED.off, 'settings'],
  ['exempt', 'settings'],
  ['input_too_large', 'settings'],
  ['body_too_large', 'settings'],
  ['constraints_unmet', 'settings'],
]);

/** The most frequent cause; `unknown` if it accounts for less than half of the requests. */
export function alarmOf({ requests, codes }: AlarmCounts, settings: AlarmSettings): SavingAlarm {
  if (!settings.enabled) return { cause: 'settings', requests, code: 'MCP_PRUNER_ENABLED' };
  if (settings.shadow) return { cause: 'settings', requests, code: 'MCP_PRUNER_MODE' };
  const byCause = new Map<AlarmCause, number>();
  const causeOf = (code: string): AlarmCause => {
    if (code === WATCHED.noLargeResult && !settings.hasDefaultSizes) return 'settings';
    return CAUSES.get(code) ?? forcedReason(code) ?? 'unknown';
  };
  for (const [code, count] of codes) byCause.set(causeOf(code), (byCause.get(causeOf(code)) ?? 0) + count);
  const [cause, share] = mostOf(byCause) ?? ['unknown', requests];
  const held = 2 * share >= requests ? cause : 'unknown';
  const within = held === 'unknown' ? codes : new Map([...codes].filter(([code]) => causeOf(code) === held));
  return { cause: held, requests, code: mostOf(within)?.[0] ?? '' };
}

/** The most frequent key, with its count. */
export function mostOf<Key>(counts: ReadonlyMap<Key, number>): [Key, number] | undefined {
  return [...counts].sort(([, a], [, b]) => b - a)[0];
}

const WORDS: Readonly<Record<AlarmCause, readonly [why: string, advice: string]>> = {
  unknown_frame: [
    'the proxy does not understand the form of the requests or of the tool results',
    'update mcp-pruner; if that does not help, report the name and version of the agent',
  ],
  left_alone: [
    'the provider refused pruned requests of these conversations, so they are forwarded unpruned',
    'start a new session; the log lines with upstream_refused show the status of the refusal',
  ],
  settings: [
    'the settings leave these texts whole',
    'check MCP_PRUNER_ENABLED, MCP_PRUNER_MODE, the header x-mcp-pruner, the never-prune lists and the size limits: mcp-pruner config',
  ],
  client_truncates: [
    'no result in long conversations is large: the client seems to truncate them itself',
    'raise the limit for tool outputs in the client, or lower MCP_PRUNER_MIN_PRUNE_CHARS',
  ],
  signed: [
    'the client signs its requests, and the signature covers the body',
    'start serve with the same AWS keys (MCP_PRUNER_BEDROCK_SIGN), or use AWS_BEARER_TOKEN_BEDROCK',
  ],
  timeout: forcedWords('timeout'),
  overloaded: forcedWords('overloaded'),
  store_unavailable: forcedWords('store_unavailable'),
  unknown: [
    'no single cause explains it',
    'mcp-pruner why <id> and the field leftWhole of the log show the reason for each text',
  ],
};

/** Describes the alarm and what can be done about it. */
export function alarmWords({ cause, requests, code }: SavingAlarm): { readonly what: string; readonly advice: string } {
  const [why, advice] = WORDS[cause];
  const shown = code === '' ? '' : ` (${code})`;
  return { what: `nothing was saved in the last ${requests} requests with large results: ${why}${shown}`, advice };
}

/** Whether a code is a cause. */
export function isAlarmCause(code: unknown): code is AlarmCause {
  return typeof code === 'string' && Object.hasOwn(WORDS, code);
}
