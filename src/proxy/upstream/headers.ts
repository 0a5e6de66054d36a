import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { credentialScope } from '../../wires/providers/bedrock.ts';

/** Headers that belong to one connection (RFC 9110 §7.6.1); `Connection` may name more. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Headers that are set for the upstream, or handled on the client's connection. */
const REQUEST_ONLY = new Set(['host', 'content-length', 'expect']);
const OWN_PREFIX = 'x-mcp-pruner-';
const OWN = 'x-mcp-pruner';

/**
 * The client's end-to-end headers for the upstream, with order, spelling and duplicates preserved. Headers covered by
 * an AWS signature are kept, including `Host`, so that the signature stays valid.
 *
 * @param raw - name, value, name, value, …
 * @param without - further names (lower case) to leave out
 */
export function requestHeaders(raw: readonly string[], without: readonly string[] = []): string[] {
  return endToEnd(raw, signedHeaders(headerIn(raw, 'authorization')), without);
}

const MAX_NAMES = 1_000;
const lowerNames = new Map<string, string>();

/** A header name in lower case. Clients repeat their spelling in every request, so each is converted once. */
export function lowerName(field: string): string {
  const known = lowerNames.get(field);
  if (known !== undefined) return known;
  const lower = field.toLowerCase();
  if (lowerNames.size < MAX_NAMES && field.length < 100) lowerNames.set(field, lower);
  return lower;
}

const NONE: ReadonlySet<string> = new Set();

/** Names of the headers that an AWS signature covers and that can be forwarded unchanged. */
function signedHeaders(authorization: string): ReadonlySet<string> {
  if (!authorization.startsWith('AWS4-')) return NONE;
  const names = new Set(credentialScope(authorization)?.signedHeaders);
  for (const name of ['content-length', 'expect']) names.delete(name);
  return names;
}

/**
 * The upstream's end-to-end headers for the client.
 *
 * @param raw - undici's raw headers; bytes beyond ASCII are read as latin-1, as in node:http
 */
export function responseHeaders(raw: unknown): string[] {
  if (!Array.isArray(raw)) return [];
  const strings: string[] = [];
  for (const item of raw as readonly (string | Buffer)[])
    strings.push(typeof item === 'string' ? item : item.toString('latin1'));
  return endToEnd(strings, null);
}

/** Sends an answer's head at once. `flushHeaders` would encode non-ASCII fields as UTF-8. */
export function flushHead(res: ServerResponse): void {
  if (res.writableEnded || res.destroyed) return;
  res.write(Buffer.alloc(0));
  res.socket?.uncork(); // node:http delays writes until the next tick, when the answer may have been aborted
}

/**
 * @param signed - for a request, the names that a signature covers; `null` for an answer
 * @param left - further names to leave out
 */
function endToEnd(
  raw: readonly string[],
  signed: ReadonlySet<string> | null,
  left: readonly string[] = NO_NAMES,
): string[] {
  const out: string[] = [];
  let named: Set<string> | null = null;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const field = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    const name = lowerNames.get(field) ?? lowerName(field);
    // a `Connection` value may list further headers
    if (name === 'connection' && value !== 'keep-alive' && value !== 'close') named ??= namedByConnection(raw);
    if (HOP_BY_HOP.has(name) || left.includes(name)) continue;
    const isForProxy = REQUEST_ONLY.has(name) || name === OWN || name.startsWith(OWN_PREFIX);
    if (signed === null || !isForProxy || signed.has(name)) out.push(field, value);
  }
  return named === null ? out : without(out, named);
}

const NO_NAMES: readonly string[] = [];

function without(fields: readonly string[], names: ReadonlySet<string>): string[] {
  return fields.filter((_, i) => !names.has((fields[i - (i % 2)] ?? '').toLowerCase()));
}

/** Headers listed in `Connection`, in lower case. */
function namedByConnection(raw: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() !== 'connection') continue;
    for (const name of (raw[i + 1] ?? '').split(',')) names.add(name.trim().toLowerCase());
  }
  return names;
}

/** A header's value; `''` if missing. */
export function headerIn(fields: readonly string[], name: string): string {
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const field = fields[i] ?? '';
    if ((lowerNames.get(field) ?? lowerName(field)) === name) return fields[i + 1] ?? '';
  }
  return '';
}

/** Adds a feature to `anthropic-beta`, unless present. */
export function withBeta(fields: readonly string[], feature: string): string[] {
  const at = fields.findLastIndex((field, i) => i % 2 === 0 && field.toLowerCase() === 'anthropic-beta');
  if (at < 0) return [...fields, 'anthropic-beta', feature];
  if (headersNamed(fields, 'anthropic-beta').some((value) => value.split(',').some((one) => one.trim() === feature)))
    return [...fields];
  const before = fields[at + 1]?.trim() ?? '';
  return fields.with(at + 1, before === '' ? feature : `${before},${feature}`);
}

function headersNamed(fields: readonly string[], name: string): string[] {
  return pairsOf(fields).flatMap(([field, value]) => (field.toLowerCase() === name ? value : []));
}

export function pairsOf(fields: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) pairs.push([fields[i] ?? '', fields[i + 1] ?? '']);
  return pairs;
}

const NAME = 'mcp-pruner-';
/** At this number of mcp-pruner entries in `Via`, a loop through other machines is assumed. */
const MAX_HOPS = 8;

/** Detects requests that have already passed this proxy, by their `Via` header (RFC 9110 §7.6.3). */
export class LoopGuard {
  /** This proxy's entry in `via`. */
  readonly own: string;

  /** @param id - unique id of this process */
  constructor(id: string) {
    this.own = `1.1 ${NAME}${id}`;
  }

  isLoop({ via }: IncomingHttpHeaders): boolean {
    if (via === undefined || !via.includes(NAME)) return false;
    const hops = via.split(',', 100).filter((hop) => hop.includes(NAME));
    return hops.length >= MAX_HOPS || hops.some((hop) => hop.trim() === this.own);
  }

  /** The complete `via` value as a single field. */
  next({ via }: IncomingHttpHeaders): string {
    return via === undefined ? this.own : `${via}, ${this.own}`;
  }
}

/** The fields of an answer that begin with `anthropic-` or `x-`: name, value, name, value, … */
export function ownFields(fields: readonly string[]): readonly string[] {
  const own: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [name = '', value = ''] = [fields[i], fields[i + 1]];
    if (/^(?:anthropic|x)-/i.test(name)) own.push(name, value);
  }
  return own;
}
