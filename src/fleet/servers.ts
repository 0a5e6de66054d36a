/** A server that was not heard of for so long no longer works. */
const STALE_MS = 10_000;
/** As `STALE_MS`, of one on another host: nobody here can look whether its process is there, and clocks differ. */
const STALE_ELSEWHERE_MS = 5 * 60_000;

/** Names a server by its host, so that others know whether they can see its processes. */
export function serverOn(host: string, id: string): string {
  return `${id}@${host}`;
}

/** What is known of the servers that share a store. */
interface Known {
  aliveSince(ms: number): Promise<ReadonlyMap<string, number>>;
}

/** Where a server stands to this one. */
export interface Standing {
  readonly lives: boolean;
  /** Its processes can be looked for here. */
  readonly isHere: boolean;
}

/**
 * Tells of other servers on a store whether they live: one of this host where its process is there, one elsewhere (another
 * machine, another container) where it was heard of lately.
 *
 * @param self - this server
 * @param isThere - whether a process of this host lives
 */
export async function standings(
  store: Known,
  self: string,
  nowMs: number,
  isThere: (pid: number) => boolean,
): Promise<(server: string) => Standing> {
  const now = Math.trunc(nowMs);
  const alive = await store.aliveSince(now - STALE_MS);
  const elsewhere = await store.aliveSince(now - STALE_ELSEWHERE_MS);
  return (server) => {
    if (!isBeside(server, self)) return { lives: elsewhere.has(server), isHere: false };
    const pid = alive.get(server);
    return { lives: pid !== undefined && isThere(pid), isHere: true };
  };
}

/** Whether a server runs on the host of another, so that a number of a process means the same to both. */
export function isBeside(server: string, other: string): boolean {
  const [host, otherHost] = [hostOf(server), hostOf(other)];
  return host === '' || host === otherHost;
}

/** `''` for a server of a version that did not say. */
function hostOf(server: string): string {
  const at = server.indexOf('@');
  return at < 0 ? '' : server.slice(at + 1);
}
