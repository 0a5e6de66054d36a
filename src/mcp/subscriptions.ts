import type { FailureReporter } from '../base/failures.ts';
import { invalidParams } from './json-rpc.ts';
import type { Resources } from './resources/registry.ts';
import type { Peer } from './tool.ts';

/** Poll interval for subscribed resources, which other processes change too. */
const POLL_MS = 500;
/** Maximum number of subscriptions of one client. */
const MAX_SUBSCRIPTIONS = 100;

export class Subscriptions {
  readonly #resources: Pick<Resources, 'lastSeq'>;
  readonly #onFailure: FailureReporter;
  readonly #urisOf = new Map<Peer, Map<string, number>>();

  constructor(resources: Pick<Resources, 'lastSeq'>, onFailure: FailureReporter) {
    this.#resources = resources;
    this.#onFailure = onFailure;
  }

  /**
   * @throws PrunerError `resource_not_found`, `resource_wrong_kind` (a snapshot never changes), `store_unavailable`;
   * RpcError -32602 if the client has too many
   */
  async add(peer: Peer, uri: string): Promise<void> {
    const lastSeq = await this.#resources.lastSeq(uri);
    if (peer.gone.aborted) return;
    const uris = this.#urisOf.get(peer) ?? this.#begin(peer);
    if (uris.size >= MAX_SUBSCRIPTIONS && !uris.has(uri)) {
      throw invalidParams({ field: 'uri', message: `at most ${MAX_SUBSCRIPTIONS} subscriptions` });
    }
    uris.set(uri, lastSeq);
  }

  remove(peer: Peer, uri: string): void {
    this.#urisOf.get(peer)?.delete(uri);
  }

  #begin(peer: Peer): Map<string, number> {
    const uris = new Map<string, number>();
    this.#urisOf.set(peer, uris);
    let isPolling = false;
    const timer = setInterval(() => {
      if (isPolling) return;
      isPolling = true;
      void this.#poll(peer, uris).finally(() => {
        isPolling = false;
      });
    }, POLL_MS).unref();
    peer.gone.addEventListener(
      'abort',
      () => {
        clearInterval(timer);
        this.#urisOf.delete(peer);
      },
      { once: true },
    );
    return uris;
  }

  /** Checks for changes. Never rejects: a failed check is retried at the next poll. */
  async #poll(peer: Peer, uris: Map<string, number>): Promise<void> {
    for (const [uri, known] of [...uris]) {
      const last = await this.#resources.lastSeq(uri).catch((cause: unknown) => {
        this.#onFailure('not_looked_at', cause);
        return known;
      });
      if (last === known || !uris.has(uri)) continue;
      uris.set(uri, last);
      peer.notify('notifications/resources/updated', { uri });
    }
  }
}
