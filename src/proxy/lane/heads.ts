import type { IncomingMessage, ServerResponse } from 'node:http';
import { BoundedMap } from '../../base/bounded-map.ts';
import type { Charge } from '../doors/gatekeeper.ts';
import type { Toll } from '../doors/meter.ts';
import type { RequestContext } from '../request-context.ts';
import type { ModelDestination } from '../upstream/destinations.ts';
import { lowerName } from '../upstream/headers.ts';
import type { WireOptions } from '../wire-handler.ts';

/** What the doors and the router found out about requests with a certain head. */
export interface Admission {
  /** The context of such a request, without an id. */
  readonly context: RequestContext;
  readonly to: ModelDestination;
  readonly options: WireOptions;
  /** Pruning is off: the body is forwarded as it came, and not parsed. */
  readonly isOff: boolean;
  /** Asks the door of access keys again; absent if no key admitted the request. */
  readonly renew: (() => boolean) | undefined;
  /** Counts against the limits of the key; absent if it has none. */
  readonly charge: Charge | undefined;
  /** Reserves dollars in the budgets of the key and the project; absent without a budget. */
  readonly toll: Toll | undefined;
  /** Adds the proxy's own provider key; absent if the client has one. */
  readonly lend: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;
}

/** Maximum number of different heads; each client of a provider has one. */
const MAX_HEADS = 1_000;
/** A head beyond this size is unusual, in characters. */
const MAX_KEY_CHARS = 16_384;

/** `read`: the value decides who sends the request, where it goes, or how it is treated. `unusual`: never in the lane. */
type HeaderUse = 'read' | 'unusual' | 'ignored';

const READ = new Set(
  (
    'host origin sec-fetch-site authorization x-api-key api-key x-goog-api-key user-agent x-title chatgpt-account-id anthropic-beta ' +
    'x-claude-code-session-id session_id session-id conversation_id x-session-affinity x-session-id x-opencode-session ' +
    'x-mcp-pruner content-encoding'
  ).split(' '),
);
const UNUSUAL = new Set('transfer-encoding expect upgrade via te trailer cookie'.split(' '));
const uses = new Map<string, HeaderUse>();

function useOf(field: string): HeaderUse {
  const name = lowerName(field);
  const isRead = READ.has(name) || name.startsWith('x-mcp-pruner-');
  const use = UNUSUAL.has(name) ? 'unusual' : isRead ? 'read' : 'ignored';
  if (uses.size < 1_000 && field.length < 100) uses.set(field, use);
  return use;
}

/**
 * Remembers how requests were admitted, by the parts of their head that decide it. The doors decide about a head once;
 * until keys, budgets or settings change, requests with the same head are admitted alike.
 */
export class Heads {
  readonly #admissions = new BoundedMap<string, Admission>(MAX_HEADS);
  /** Heads of requests that are being admitted. */
  readonly #asked = new WeakMap<IncomingMessage, string>();

  /** Forgets all admissions: a key, a budget or a setting has changed. */
  clear(): void {
    this.#admissions.clear();
  }

  /** The admission of a request with this head; `null` if the doors have to decide. */
  find(req: IncomingMessage): Admission | null {
    const key = keyOf(req);
    if (key === '') return null;
    const admission = this.#admissions.get(key);
    if (admission === undefined) this.#asked.set(req, key);
    else if (admission.renew === undefined || admission.renew()) return admission;
    return null;
  }

  /** Records how the doors admitted a request. */
  add(req: IncomingMessage, admission: Admission): void {
    const key = this.#asked.get(req);
    if (key !== undefined) this.#admissions.set(key, admission);
  }
}

/** The parts of a head that decide about a request, `''` if it is unusual. */
function keyOf({ method, url = '', rawHeaders }: IncomingMessage): string {
  if (method !== 'POST') return '';
  let key = url;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const field = rawHeaders[i] ?? '';
    const use = uses.get(field) ?? useOf(field);
    if (use === 'ignored') continue;
    const value = rawHeaders[i + 1] ?? '';
    if (use === 'unusual' || value.startsWith('AWS4-')) return '';
    key += `\n${field}:${value}`;
  }
  return key.length > MAX_KEY_CHARS ? '' : key;
}
