import type { Fleet } from './fleet.ts';
import type { FleetStore } from './tables/fleet-store.ts';

type FleetKind = 'graph' | 'graph_version' | 'snapshot' | 'blackboard_namespace';

const GRAPHS = 'sc://graphs/';

/** The graph id prefix implied by a URI prefix; `''` if any id matches. */
function graphIdIn(uriPrefix: string): string {
  if (!uriPrefix.startsWith(GRAPHS)) return '';
  const [id = ''] = uriPrefix.slice(GRAPHS.length).split('@', 1);
  try {
    return decodeURIComponent(id);
  } catch {
    return ''; // the prefix ends inside an escape sequence
  }
}

export class FleetResources {
  readonly #fleet: Fleet;
  readonly #store: FleetStore;

  constructor(fleet: Fleet, store: FleetStore) {
    this.#fleet = fleet;
    this.#store = store;
  }

  /**
   * Newest resources of each kind; a URI consists of kind and ids.
   *
   * @param uriPrefix - requested prefix; the result may contain others too
   */
  async list(limit: number, uriPrefix: string) {
    const all = { prefix: '', limit };
    const ofGraphs = { prefix: graphIdIn(uriPrefix), limit };
    const [heads, versions, snapshots, namespaces] = await Promise.all([
      this.#store.graphs.heads(ofGraphs),
      this.#store.graphs.versions(ofGraphs),
      this.#store.graphs.snapshots(all),
      this.#store.board.namespaces(all),
    ]);
    return [
      ...heads.map(({ graphId, version, committedMs }) => ({
        kind: 'graph' as const,
        uri: `${GRAPHS}${encodeURIComponent(graphId)}`,
        atMs: committedMs,
        metadata: { graphId, latest_version: version, committedAt: committedMs },
      })),
      ...versions.map(({ graphId, version, committedMs }) => ({
        kind: 'graph_version' as const,
        uri: `${GRAPHS}${encodeURIComponent(graphId)}@v${version}`,
        atMs: committedMs,
        metadata: { graphId, version, committedAt: committedMs },
      })),
      ...snapshots.map(({ graphId, txId, state, owner, note, startedMs, expiresMs, baseVersion, finalVersion }) => ({
        kind: 'snapshot' as const,
        uri: `sc://snapshots/${encodeURIComponent(graphId)}/${encodeURIComponent(txId)}`,
        atMs: startedMs,
        metadata: {
          ...{ graphId, txId, state, owner, note, baseVersion, finalVersion },
          startedAt: startedMs,
          expiresAt: expiresMs,
        },
      })),
      ...namespaces.map(({ namespace, entries, updatedMs }) => ({
        kind: 'blackboard_namespace' as const,
        uri: `sc://blackboard/${encodeURIComponent(namespace)}`,
        atMs: updatedMs,
        metadata: { namespace, entries, updatedAt: updatedMs },
      })),
    ];
  }

  /** @param part - transaction of a snapshot or version number; `null` for neither */
  async read(kind: FleetKind, id: string, part: string | null): Promise<object | 'expired' | null> {
    const { graphs, board } = this.#fleet;
    if (kind === 'blackboard_namespace') return board.namespacePayload(id);
    if (kind === 'snapshot') return graphs.snapshotPayload(id, part ?? '');
    if (kind === 'graph') return graphs.payload(id, null);
    const version = Number(part);
    const payload = await graphs.payload(id, version);
    const head = payload === null ? await this.#store.graphs.head(id) : null;
    return payload ?? (head !== null && version >= 1 && version < head.version ? 'expired' : null);
  }
}
