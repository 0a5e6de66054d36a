import type { Finding } from 'mcp-pruner/app/finding.ts';
import type { ProxyHealth } from 'mcp-pruner/cli/run-proxy.ts';
import { forcedWords, isForcedReason } from 'mcp-pruner/errors/passed-whole.ts';

const REASONS: ReadonlyMap<string, readonly [what: string, advice: string]> = new Map([
  [
    'encoding_not_understood',
    [
      'bodies passed unread: compressed in an unknown way, damaged, or too large when decompressed',
      'zstd, gzip, br and deflate are supported, up to MCP_PRUNER_MAX_BODY_BYTES and a hundred times the compressed size',
    ],
  ],
  [
    'body_not_understood',
    ['bodies passed unread: they are not requests of the wire of their path', 'look for their requestId in the log'],
  ],
  [
    'answer_not_read',
    [
      'answers were compressed in an unknown way, decode to far more than their size, or found no memory',
      'clients got them unchanged, but they may be billed by their size; give the process a larger heap',
    ],
  ],
  [
    'odd_usage',
    [
      'answers reported more tokens than any model can read or write, and were billed by their size',
      'look for odd_usage in the log, and compare the bill with the provider’s',
    ],
  ],
  [
    'frame_not_understood',
    [
      'WebSocket frames passed unread: they are not JSON objects with a type',
      'find out which client opened the connection',
    ],
  ],
  [
    'path_not_understood',
    [
      'large requests passed whole: they were posted to an unknown path',
      'the log names the path; set the client to a supported one: chat/completions, messages, responses or generateContent',
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
    'asked_to_retry',
    [
      'requests were answered with 503, because a lock, a time-out or a lack of memory hid how their history was sent',
      'clients send them again; look for what locks the store, or give the process a larger heap',
    ],
  ],
  [
    'history_raw',
    [
      'requests were forwarded whole, because the store could not say how their history was sent',
      'their provider may refuse a history that was cut before; look for what keeps the store away',
    ],
  ],
  [
    'upgrade_refused',
    [
      'WebSockets were refused: only /v1/responses supports them',
      'nothing is lost if the client continues with POST; otherwise disable WebSocket in the client',
    ],
  ],
  [
    'websocket_not_opened',
    [
      'WebSockets could not be opened, because the upstream does not support them or was not available',
      'clients continue with POST after some retries; for Codex set supports_websockets = false',
    ],
  ],
  [
    'prefix_binding_mismatch',
    [
      'the provider dropped thinking blocks, because the history before them had changed',
      'if the session changed its proxy or its store midway, compact it or start a new one; otherwise report it',
    ],
  ],
]);

/** Reports requests that the running proxy could not read or prune, which otherwise silently save nothing. */
export function checkUnread(running: Pick<ProxyHealth, 'notUnderstood'> | null): Finding[] {
  return [...(running?.notUnderstood ?? [])].flatMap(([reason, count]): Finding[] => {
    const [what, advice] = REASONS.get(reason) ?? (isForcedReason(reason) ? forcedWords(reason) : []);
    if (what === undefined || advice === undefined || count <= 0) return [];
    return [{ level: 'note', what: `${count} since the proxy started: ${what} (${reason})`, advice }];
  });
}
