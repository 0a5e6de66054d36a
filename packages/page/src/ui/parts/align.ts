/** Two groups of texts rarely belong to one request, so that costs as much as a difference of this many milliseconds. */
const SHARED_MS = 1_000;
/** Texts are read before their request is billed; the other order only occurs within the delay of a recording. */
const BILLED_BEFORE = 20;

/**
 * Finds for each group of new texts the request that sent it, with the smallest sum of differences in time. Both are in
 * order. The texts of a failed request, which is not billed, belong to the request that was sent in its place.
 *
 * @param groups - when the texts were read, in epoch milliseconds, oldest first
 * @param requests - when the requests were billed, likewise
 * @returns an index into `requests` for each group; -1 if there are none
 */
export function alignedRequests(groups: readonly number[], requests: readonly number[]): number[] {
  if (requests.length === 0) return groups.map(() => -1);
  const cost = (group: number, request: number): number => {
    const late = (requests[request] ?? 0) - (groups[group] ?? 0);
    return late >= 0 ? late : -late * BILLED_BEFORE;
  };
  let best = requests.map((_, request) => cost(0, request));
  const cameFrom: number[][] = [];
  for (let group = 1; group < groups.length; group++) {
    const from: number[] = [];
    let least = -1; // the cheapest earlier request
    const next = requests.map((_, request) => {
      const before = least < 0 ? Number.POSITIVE_INFINITY : (best[least] ?? 0);
      const shared = (best[request] ?? 0) + SHARED_MS;
      from.push(before <= shared ? least : request);
      if (least < 0 || (best[request] ?? 0) < before) least = request;
      return Math.min(before, shared) + cost(group, request);
    });
    cameFrom.push(from);
    best = next;
  }
  let at = best.indexOf(best.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY));
  const found = [at];
  for (const from of cameFrom.toReversed()) {
    at = from[at] ?? at;
    found.unshift(at);
  }
  return groups.length === 0 ? [] : found;
}
