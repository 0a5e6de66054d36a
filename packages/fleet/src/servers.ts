/** Age of the last heartbeat after which a server counts as ended. */
const STALE_MS = 10_000;
/** `STALE_MS` for servers on other hosts, whose processes cannot be checked from here and whose clocks may differ. */
const STALE_ELSEWHERE_MS = 5 * 60_000;

/** A server id with its host, by which other servers can tell whether they can see its processes. */
export function serverOn(host: string, id: string): string {
  return `${id}@${host}`;
}

interface Known {
  aliveSince(ms: number): Promise<ReadonlyMap<string, number>>;
}

interface ServerState {
  readonly lives: boolean;
  /** Whether its processes run on this host. */
  readonly isHere: boolean;
}

/**
 * Whether other servers of a store are alive. On this host, a server is alive if its process exists; elsewhere (another
 * machine or container), if its last heartbeat is recent.
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

/** Whether two servers run on the same host and thus share pids. */
export function isOnSameHost(server: string, other: string): boolean {
  const [host, otherHost] = [hostOf(server), hostOf(other)];
  return host === '' || host === otherHost;
}

/** Host of a server; `''` for versions that did not record it. */
function hostOf(server: string): string {
  const at = server.indexOf('@');
  return at < 0 ? '' : server.slice(at + 1);
}
