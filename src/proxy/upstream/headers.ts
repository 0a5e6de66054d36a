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
/** Headers set again for the upstream, or already handled on the client's connection. */
const REQUEST_ONLY = new Set(['host', 'content-length', 'expect']);
const OWN_PREFIX = 'x-mcp-pruner-';
const OWN = 'x-mcp-pruner';

/**
 * The client's end-to-end headers for the upstream, with order, spelling and duplicates preserved. Headers covered by
 * an AWS signature stay, including `Host`: without any of them the signature would be invalid.
 *
 * @param raw - name, value, name, value, …
 * @param without - further names (lower case) to leave out
 */
export function requestHeaders(raw: readonly string[], without: readonly string[] = []): string[] {
  const signed = signedHeaders(headerIn(raw, 'authorization'));
  const isDropped = (name: string): boolean => REQUEST_ONLY.has(name) || ownHeader(name);
  return endToEnd(raw, (name) => (isDropped(name) && !signed.has(name)) || without.includes(name));
}

/** Names of the headers that an AWS signature covers and that can be forwarded unchanged. */
function signedHeaders(authorization: string | undefined): ReadonlySet<string> {
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
  const strings = raw.map((item: unknown) => (Buffer.isBuffer(item) ? item.toString('latin1') : String(item)));
  return endToEnd(strings, () => false);
}

/** Sends the head of an answer that has been written. `flushHeaders` would encode fields beyond ASCII as UTF-8. */
export function flushHead(res: ServerResponse): void {
  if (res.writableEnded || res.destroyed) return;
  res.write(Buffer.alloc(0));
  res.socket?.uncork(); // node:http holds writes back until the next tick, when the answer may have been broken off
}

function endToEnd(raw: readonly string[], drop: (name: string) => boolean): string[] {
  const out: string[] = [];
  let named: Set<string> | null = null;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const field = raw[i] ?? '';
    const name = field.toLowerCase();
    if (name === 'connection' && namesOthers(raw[i + 1] ?? '')) named ??= namedByConnection(raw);
    if (!HOP_BY_HOP.has(name) && !drop(name)) out.push(field, raw[i + 1] ?? '');
  }
  return named === null ? out : without(out, named);
}

/** Whether a value of `Connection` names further headers. */
function namesOthers(value: string): boolean {
  return value !== 'keep-alive' && value !== 'close';
}

function without(fields: readonly string[], names: ReadonlySet<string>): string[] {
  return fields.filter((_, i) => !names.has((fields[i - (i % 2)] ?? '').toLowerCase()));
}

/** Whether a header (lower case) addresses this proxy and is not forwarded. */
function ownHeader(name: string): boolean {
  return name === OWN || name.startsWith(OWN_PREFIX);
}

/** Headers that `Connection` names, lower case. */
function namedByConnection(raw: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() !== 'connection') continue;
    for (const name of (raw[i + 1] ?? '').split(',')) names.add(name.trim().toLowerCase());
  }
  return names;
}

/** A header's value, `''` if it is missing. */
export function headerIn(fields: readonly string[], name: string): string {
  for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i]?.toLowerCase() === name) return fields[i + 1] ?? '';
  return '';
}

/** The same fields with a feature added to `anthropic-beta`, unless it is there. */
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
/** This many mcp-pruner entries in `Via`, or more, indicate a loop through other machines. */
const MAX_HOPS = 8;

/**
 * Detects requests that have passed this proxy before, by `Via` (RFC 9110 §7.6.3): an upstream may lead back to the
 * proxy.
 */
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

  /** The complete `via` for an upstream that receives it as one field. */
  next({ via }: IncomingHttpHeaders): string {
    return via === undefined ? this.own : `${via}, ${this.own}`;
  }
}
