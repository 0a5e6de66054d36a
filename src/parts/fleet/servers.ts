/** Age of the last heartbeat after which a server counts as ended. */
const STALE_MS = 10_000;
/** `STALE_MS` for servers on another host: their processes cannot be checked from here, and clocks differ. */
const STALE_ELSEWHERE_MS = 5 * 60_000;

/** A server id with its host, so that other servers know whether they can see its processes. */
export function serverOn(host: string, id: string): string {
  return `${id}@${host}`;
}

/** State about the servers that share a store. */
interface Known {
  aliveSince(ms: number): Promise<ReadonlyMap<string, number>>;
}

/** The state of one server as seen from this one. */
export interface ServerState {
  readonly lives: boolean;
  /** Its processes run on this host. */
  readonly isHere: boolean;
}

/**
 * Whether other servers of a store are alive. A server of this host is alive if its process exists. A server elsewhere
 * (another machine or container) is alive if its last heartbeat is recent.
 *
 * @param self - this server
 * @param isThere - whether a process of this host exists
 */
export async function serverStates(
  store: Known,
  self: string,
  nowMs: number,
  isThere: (pid: number) => boolean,
): Promise<(server: string) => ServerState> {
  const now = Math.trunc(nowMs);
  const alive = await store.aliveSince(now - STALE_MS);
  const elsewhere = await store.aliveSince(now - STALE_ELSEWHERE_MS);
  return (server) => {
    if (!isOnSameHost(server, self)) return { lives: elsewhere.has(server), isHere: false };
    const pid = alive.get(server);
    return { lives: pid !== undefined && isThere(pid), isHere: true };
  };
}

/** Whether two servers run on the same host, so that pids mean the same to both. */
export function isOnSameHost(server: string, other: string): boolean {
  const [host, otherHost] = [hostOf(server), hostOf(other)];
  return host === '' || host === otherHost;
}

/** `''` for a server of a version that did not record its host. */
function hostOf(server: string): string {
  const at = server.indexOf('@');
  return at < 0 ? '' : server.slice(at + 1);
}
