import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { keyOf } from '../core/hash.ts';
import type { BegunRequest } from '../core/ports/answer-watch.ts';
import type { Viewer } from '../core/ports/projects.ts';
import type { RequestScope } from '../core/ports/segments.ts';
import type { SessionHeaders } from '../core/request/session.ts';
import { admitted, ownAdmissions } from './doors/admitted.ts';
import { runOf } from './doors/run-door.ts';
import type { Destination } from './upstream/destinations.ts';

/** Who sends a request, and where it belongs. Created once when a request is admitted, and passed on. */
export interface RequestContext {
  readonly requestId: string;
  /** The viewer of the key that the request was admitted with; `null` without keys. */
  readonly viewer: Viewer | null;
  /** The viewer's project, else the one that the header names, else `default`; and the task. */
  readonly scope: RequestScope;
  /** Id of the access key that it was admitted with; absent without keys. */
  readonly keyId?: string | undefined;
  /** The child agent that sends it, or `null`. */
  readonly childId: string | null;
  /** Hash of the provider's API keys in the request; no part of a key is stored. */
  readonly caller: string;
  /** The access key or the person that a gatekeeper names, else `caller`. */
  readonly account: string;
  /** `x-mcp-pruner: off`: the request asks not to be pruned. */
  readonly isOff: boolean;
  /** The ids of its session in its headers, and the first of them, or `''`. */
  readonly sessions: SessionHeaders;
  readonly session: string;
  /** Product name of the user agent, without its version; `unknown` without one. */
  readonly client: string;
  /** The run of `mcp-pruner run` that sends it, or `''`. */
  readonly run: string;
  /** Logged in with a subscription instead of an API key. */
  readonly isSubscription: boolean;
  /** Its destination is Anthropic's own API. */
  readonly toAnthropic: boolean;
}

const DEFAULT_PROJECT = 'default';
const MAX_NAME_CHARS = 200;
const CODEX_SESSION = ['session_id', 'session-id', 'conversation_id'] as const;
const OTHER_SESSIONS = ['x-session-affinity', 'x-session-id', 'x-opencode-session'] as const;
const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** Reads the context of an admitted request from its headers and from what its gatekeeper found. */
export function contextOf(
  req: IncomingMessage,
  requestId: string,
  to?: Pick<Destination, 'upstream' | 'path'>,
): RequestContext {
  const { headers } = req;
  const { viewer, keyId } = admitted.get(req) ?? { viewer: null };
  const project = viewer?.project ?? (projectNamed(headers) || DEFAULT_PROJECT);
  const off = headers['x-mcp-pruner'];
  const agent = agentIn(headers['user-agent']);
  const [client = ''] = agent.split('/');
  const sessions = sessionsIn(headers);
  const caller = keyOf('caller', ...KEY_HEADERS.map((name) => String(headers[name] ?? '')));
  return {
    requestId,
    viewer,
    keyId,
    scope: { project, task: nameIn(headers['x-mcp-pruner-task']), requestId, client, agent },
    childId: ownAdmissions.get(req)?.childId ?? null,
    caller,
    account: keyId ?? caller,
    isOff: typeof off === 'string' && off.trim().toLowerCase() === 'off',
    sessions,
    session: sessions.claudeCode || sessions.codex || sessions.others,
    client,
    run: runOf(req),
    isSubscription: isSubscription(headers) || (to !== undefined && isChatGpt(to)),
    toAnthropic: to !== undefined && ANTHROPIC.test(to.upstream.origin),
  };
}

const ANTHROPIC = /^https?:\/\/api\.anthropic\.com(?::\d{1,5})?$/;

function sessionsIn(headers: IncomingHttpHeaders): SessionHeaders {
  const first = (names: readonly string[]): string =>
    names.map((name) => nameIn(headers[name])).find((id) => id !== '') ?? '';
  return {
    claudeCode: first(['x-claude-code-session-id']),
    codex: first(CODEX_SESSION),
    others: first(OTHER_SESSIONS),
  };
}

/** The address of ChatGPT, which takes no API keys. */
function isChatGpt({ upstream, path }: Pick<Destination, 'upstream' | 'path'>): boolean {
  return /^https?:\/\/(?:[^/]+\.)?chatgpt\.com(?::|$)/.test(upstream.origin) || path.startsWith('/backend-api/');
}

/** Claude Code's OAuth login, or Codex with a ChatGPT login. */
function isSubscription(headers: IncomingHttpHeaders): boolean {
  const { authorization = '', 'anthropic-beta': beta = '', 'chatgpt-account-id': account } = headers;
  return /^bearer\s+sk-ant-oat/i.test(authorization) || String(beta).includes('oauth-') || account !== undefined;
}

/** `claude-cli/2.1.3` of `claude-cli/2.1.3 (external, cli)`; the product name alone without a version. */
function agentIn(userAgent: string | undefined): string {
  const [, product, version] = /^([^\s/();,]{1,100})(?:\/v?(\d[\w.+-]{0,40}))?/.exec(nameIn(userAgent)) ?? [];
  return version === undefined ? (product ?? 'unknown') : `${product}/${version}`;
}

/** A request as observers of answers need it. */
export function begunOf(context: RequestContext, headers: IncomingHttpHeaders): BegunRequest {
  const { requestId, scope, session, keyId, caller } = context;
  const account = headers['chatgpt-account-id'];
  return {
    requestId,
    project: scope.project,
    session,
    client: scope.agent ?? context.client,
    keyId,
    caller,
    accountId: nameIn(account),
  };
}

/** The context of one request in a connection that was admitted as a whole. */
export function withRequestId(connection: RequestContext, requestId: string): RequestContext {
  return { ...connection, requestId, scope: { ...connection.scope, requestId } };
}

/** The project that `x-mcp-pruner-project` names, or `''`. The header is not forwarded. */
export function projectNamed(headers: IncomingHttpHeaders): string {
  return nameIn(headers['x-mcp-pruner-project']);
}

/** Node reads header bytes as latin-1; names beyond ASCII come as UTF-8. */
function nameIn(value: string | string[] | undefined): string {
  if (value === undefined) return '';
  const raw = (Array.isArray(value) ? value[0] : value)?.trim() ?? '';
  const text = Buffer.from(raw, 'latin1').toString('utf8');
  return (text.includes('\ufffd') ? raw : text).slice(0, MAX_NAME_CHARS);
}
