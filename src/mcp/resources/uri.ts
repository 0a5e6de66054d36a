/** Kinds of the `sc://` scheme. The last three, and graph snapshots, belong to an extension. */
export type ResourceKind =
  | 'run_events'
  | 'snapshot'
  | 'child_logs'
  | 'graph'
  | 'graph_version'
  | 'blackboard_namespace';

export interface ResourceName {
  readonly kind: ResourceKind;
  /** Id of the run, prune or agent. */
  readonly id: string;
  /** Transaction of a graph snapshot, or version number of a graph. */
  readonly part?: string;
}

const MAX_URI_CHARS = 1_000;
const ESCAPE_CHARS = '%41'.length;

/** URI patterns of this server's resources: the parts before and after the id. */
const places = {
  run_events: ['sc://runs/', '/events'],
  snapshot: ['sc://snapshots/', ''],
  child_logs: ['sc://children/', '/logs'],
} as const;

export type OfferedKind = keyof typeof places;

export function formatUri(kind: OfferedKind, id: string): string {
  const [before, behind] = places[kind];
  return `${before}${encodeURIComponent(id)}${behind}`;
}

/** Inverse of `formatUri`, including kinds of extensions; `null` for other texts. */
export function parseUri(uri: string): ResourceName | null {
  if (uri.length > MAX_URI_CHARS || !uri.startsWith('sc://')) return null;
  const [family = '', part = '', end, ...more] = uri.slice('sc://'.length).split('/');
  const id = decoded(part);
  if (id === null || more.length > 0) return null;
  if (family === 'runs') return end === 'events' ? { kind: 'run_events', id } : null;
  if (family === 'children') return end === 'logs' ? { kind: 'child_logs', id } : null;
  if (family === 'snapshots' && end !== undefined) {
    const tx = decoded(end);
    return tx === null ? null : { kind: 'snapshot', id, part: tx };
  }
  if (end !== undefined) return null;
  if (family === 'snapshots') return { kind: 'snapshot', id };
  if (family === 'graphs') return graphName(part);
  if (family === 'blackboard') return { kind: 'blackboard_namespace', id };
  return null;
}

/** Any `@` inside the id is escaped. */
function graphName(part: string): ResourceName | null {
  const [, graph = '', version] = /^([^@]*)(?:@v(\d{1,15}))?$/.exec(part) ?? [];
  const id = decoded(graph);
  if (id === null) return null;
  return version === undefined ? { kind: 'graph', id } : { kind: 'graph_version', id, part: version };
}

/**
 * Converts a URI prefix to an id prefix for one kind.
 *
 * @returns the id prefix, or `null` if no URI of the kind matches
 */
export function idPrefix(kind: OfferedKind, prefix: string): string | null {
  const [before, behind] = places[kind];
  if (before.startsWith(prefix)) return '';
  if (!prefix.startsWith(before)) return null;
  const rest = prefix.slice(before.length);
  const slash = rest.indexOf('/');
  if (slash >= 0 && !behind.startsWith(rest.slice(slash))) return null;
  const id = slash < 0 ? rest : rest.slice(0, slash);
  // a prefix may end inside an escape sequence
  for (let whole = id.replace(/%[0-9A-Fa-f]?$/, ''); ; whole = whole.slice(0, -ESCAPE_CHARS)) {
    const prefixOfId = decoded(whole, true);
    if (prefixOfId !== null || !/%[0-9A-Fa-f]{2}$/.test(whole)) return prefixOfId;
  }
}

function decoded(part: string, mayBeEmpty = false): string | null {
  if (part === '') return mayBeEmpty ? '' : null;
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
