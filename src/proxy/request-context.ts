import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { keyOf } from '../core/hash.ts';
import type { Sender } from '../core/ports/guest.ts';
import type { Viewer } from '../core/ports/projects.ts';
import type { RequestScope } from '../core/ports/segments.ts';
import type { SessionHeaders } from '../core/request/session.ts';
import { admitted, ownAdmissions } from './doors/gatekeeper.ts';
import { runOf } from './doors/run-door.ts';
import type { Destination } from './upstream/destinations.ts';

/** Sender and project of a request. Created once when the request is admitted. */
export interface RequestContext {
  readonly requestId: string;
  /** Viewer of the access key; `null` without keys. */
  readonly viewer: Viewer | null;
  /** Project (the viewer's, else the header's, else `default`) and task. */
  readonly scope: RequestScope;
  /** Id of the access key; absent without keys. */
  readonly keyId?: string | undefined;
  /** The child agent that sends it, or `null`. */
  readonly childId: string | null;
  /** Hash of the provider keys in the request; no part of a key is stored. */
  readonly caller: string;
  /** Access key or person named by a gatekeeper, else `caller`. */
  readonly account: string;
  /** The header `x-mcp-pruner: off` was sent: do not prune. */
  readonly isOff: boolean;
  /** Session ids in the headers, and the first of them, or `''`. */
  readonly sessions: SessionHeaders;
  readonly session: string;
  /** Product name of the user agent, without version; `unknown` if absent. */
  readonly client: string;
  /** Id of the `mcp-pruner run` run, or `''`. */
  readonly run: string;
  /** The provider's id of the account, if a header names it; otherwise `''`. */
  readonly accountId: string;
  /** Whether the login is a subscription instead of an API key. */
  readonly isSubscription: boolean;
}

const DEFAULT_PROJECT = 'default';
const UNKNOWN = 'unknown';
const MAX_NAME_CHARS = 200;
const CODEX_SESSION = ['session_id', 'session-id', 'conversation_id'] as const;
const OTHER_SESSIONS = ['x-session-affinity', 'x-session-id', 'x-opencode-session'] as const;
const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;

/** Builds the context of an admitted request from its headers and its gatekeeper's results. */
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
    scope: {
      project,
      task: nameIn(headers['x-mcp-pruner-task']),
      requestId,
      client,
      agent,
      origin: originOf(client, nameIn(headers[TITLE]), runOf(req)),
    },
    childId: ownAdmissions.get(req)?.childId ?? null,
    caller,
    account: keyId ?? caller,
    isOff: typeof off === 'string' && off.trim().toLowerCase() === 'off',
    sessions,
    session: sessions.claudeCode || sessions.codex || sessions.others,
    client,
    run: runOf(req),
    accountId: nameIn(headers['chatgpt-account-id']),
    isSubscription: isSubscription(headers) || (to !== undefined && isChatGpt(to)),
  };
}

/** The name that an agent gives itself beside the user agent of its SDK. */
export const TITLE = 'x-title';

function originOf(client: string, title: string, run: string): string {
  const known = [client === UNKNOWN ? '' : client, title, run];
  return known.every((part) => part === '') ? '' : known.join('\n');
}

function sessionsIn(headers: IncomingHttpHeaders): SessionHeaders {
  const first = (names: readonly string[]): string =>
    names.map((name) => nameIn(headers[name])).find((id) => id !== '') ?? '';
  return {
    claudeCode: first(['x-claude-code-session-id']),
    codex: first(CODEX_SESSION),
    others: first(OTHER_SESSIONS),
  };
}

/** Whether the destination is ChatGPT, which accepts no API keys. */
function isChatGpt({ upstream, path }: Pick<Destination, 'upstream' | 'path'>): boolean {
  return /^https?:\/\/(?:[^/]+\.)?chatgpt\.com(?::|$)/.test(upstream.origin) || path.startsWith('/backend-api/');
}

/** Whether the login is Claude Code's OAuth, or Codex with ChatGPT. */
function isSubscription(headers: IncomingHttpHeaders): boolean {
  const { authorization = '', 'anthropic-beta': beta = '', 'chatgpt-account-id': account } = headers;
  return /^bearer\s+sk-ant-oat/i.test(authorization) || String(beta).includes('oauth-') || account !== undefined;
}

/** `claude-cli/2.1.3` from `claude-cli/2.1.3 (external, cli)`; only the product name if there is no version. */
function agentIn(userAgent: string | undefined): string {
  const [, product, version] = /^([^\s/();,]{1,100})(?:\/v?(\d[\w.+-]{0,40}))?/.exec(nameIn(userAgent)) ?? [];
  return version === undefined ? (product ?? UNKNOWN) : `${product}/${version}`;
}

/** The sender of a request, for guests. */
export function senderOf(
  { scope, session, client, keyId, caller, accountId }: RequestContext,
  requestId: string,
): Sender {
  return { requestId, project: scope.project, session, client: scope.agent ?? client, keyId, caller, accountId };
}

/** The context of one request on a connection that was admitted as a whole. */
export function withRequestId(connection: RequestContext, requestId: string): RequestContext {
  return { ...connection, requestId, scope: { ...connection.scope, requestId } };
}

/** The project that `x-mcp-pruner-project` names, or `''`. The header is not forwarded. */
export function projectNamed(headers: IncomingHttpHeaders): string {
  return nameIn(headers['x-mcp-pruner-project']);
}

/** Node decodes header bytes as latin-1, but non-ASCII names are sent as UTF-8. */
function nameIn(value: string | string[] | undefined): string {
  if (value === undefined) return '';
  const raw = (Array.isArray(value) ? value[0] : value)?.trim() ?? '';
  const text = Buffer.from(raw, 'latin1').toString('utf8');
  return (text.includes('\ufffd') ? raw : text).slice(0, MAX_NAME_CHARS);
}
