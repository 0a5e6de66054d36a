import type { Finding } from './finding.ts';
import type { ProxyHealth } from './run-proxy.ts';

/** The meaning of each reason, and the remedy. */
const REASONS: ReadonlyMap<string, readonly [what: string, advice: string]> = new Map([
  [
    'encoding_not_understood',
    [
      'bodies passed unread: packed in an unknown way, broken, or too large once unpacked',
      'understood are zstd, gzip, br and deflate up to MCP_PRUNER_MAX_BODY_BYTES',
    ],
  ],
  [
    'body_not_understood',
    ['bodies passed unread: no request of the wire whose path they came by', 'look for their requestId in the log'],
  ],
  [
    'frame_not_understood',
    ['frames of a WebSocket passed unread: no JSON object with a type', 'look which client has opened the connection'],
  ],
  [
    'path_not_understood',
    [
      'large requests passed whole: posted to a path of which nobody knows what it is',
      'the log names the path; understood are chat/completions, messages, responses and generateContent: set the client to one',
    ],
  ],
  [
    'signed_by_client',
    [
      'requests to Bedrock passed whole: their client signed them, and the signature covers the body',
      'start serve with the same AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (MCP_PRUNER_BEDROCK_SIGN), or use AWS_BEARER_TOKEN_BEDROCK',
    ],
  ],
  [
    'upgrade_refused',
    [
      'WebSockets were refused: only /v1/responses has them',
      'nothing is lost where the client goes on by POST; else switch WebSocket off in it',
    ],
  ],
  [
    'websocket_not_opened',
    [
      'WebSockets could not be opened, because the upstream opens none or was away',
      'clients go on by POST after some retries; for Codex set supports_websockets = false',
    ],
  ],
  [
    'prefix_binding_mismatch',
    [
      'answers were made without earlier thinking: what stands before it was not what it was made from',
      'a session that changed its proxy or its store midway recovers with a compaction or a new session; otherwise report it',
    ],
  ],
]);

/** Requests that a running proxy could not read: it saves nothing there, without any other sign. */
export function checkUnread(running: Pick<ProxyHealth, 'notUnderstood'> | null): Finding[] {
  return [...(running?.notUnderstood ?? [])].flatMap(([reason, count]): Finding[] => {
    const [what, advice] = REASONS.get(reason) ?? [];
    if (what === undefined || advice === undefined || count <= 0) return [];
    return [{ level: 'note', what: `${count} since the proxy started: ${what} (${reason})`, advice }];
  });
}
