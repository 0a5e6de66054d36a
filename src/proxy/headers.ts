/** Fields that belong to one connection (RFC 9110 §7.6.1); `Connection` may name more. */
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
/** Set anew for the hop to the upstream, or settled already by ours to the client. */
const REQUEST_ONLY = new Set(['host', 'content-length', 'expect']);
const OWN_PREFIX = 'x-mcp-pruner-';
const OWN = 'x-mcp-pruner';

/**
 * The client's end-to-end fields for the upstream, in their order and spelling, duplicates included.
 *
 * @param raw - name, value, name, value, …
 * @param without - further names (lower case) to leave out
 */
export function requestHeaders(raw: readonly string[], without: readonly string[] = []): string[] {
  const dropped = new Set([...without, ...namedByConnection(raw)]);
  return pairs(raw, (name) => {
    if (HOP_BY_HOP.has(name) || REQUEST_ONLY.has(name) || dropped.has(name)) return false;
    return !ownHeader(name);
  });
}

/** The upstream's end-to-end fields for the client. */
export function responseHeaders(raw: readonly string[]): string[] {
  const dropped = namedByConnection(raw);
  return pairs(raw, (name) => !HOP_BY_HOP.has(name) && !dropped.has(name));
}

/** Undici's raw headers as strings; bytes beyond ASCII keep their value as latin-1, as node:http has it. */
export function rawStrings(raw: unknown): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((item: unknown) => (Buffer.isBuffer(item) ? item.toString('latin1') : String(item)));
}

function pairs(raw: readonly string[], keep: (name: string) => boolean): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (keep(name.toLowerCase())) out.push(name, raw[i + 1] ?? '');
  }
  return out;
}

/** Whether a field (lower case) belongs to one connection and never goes further. */
export function hopByHop(name: string): boolean {
  return HOP_BY_HOP.has(name);
}

/** Whether a field (lower case) speaks to this proxy and is nobody else's business. */
export function ownHeader(name: string): boolean {
  return name === OWN || name.startsWith(OWN_PREFIX);
}

/** Fields that `Connection` names, lower case. */
export function namedByConnection(raw: readonly string[]): Set<string> {
  const names = new Set<string>();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (raw[i]?.toLowerCase() !== 'connection') continue;
    for (const name of (raw[i + 1] ?? '').split(',')) names.add(name.trim().toLowerCase());
  }
  return names;
}
