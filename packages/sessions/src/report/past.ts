import type { Reading } from '@mcp-pruner/money/limits/attribution.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import { type Leftover, USUAL } from '@mcp-pruner/money/thresholds.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { Session, SessionRequest } from '../readers/recorded.ts';
import { ENOUGH_TOKENS, ownScales, Scales } from '../readers/scale.ts';
import type { SessionFile } from './found.ts';
import { pastLimits } from './limits.ts';
import { PastBill, wentThroughProxy } from './past-bill.ts';
import type { SessionsReport } from './past-report.ts';
import { Rehearsal, type Rehearsed } from './rehearsal.ts';
import { WhatIf } from './what-if.ts';

/** Practically unlimited, because no client waits. */
const TIMEOUT_MS = 600_000;
/** Maximum number of request keys remembered to recognise duplicates in other files. */
const MAX_KEYS = 2_000_000;
/** Maximum number of cut texts per session looked up in the store. */
const ASKED = 12;
/**
 * Cuts are measured unasked in sessions whose request bodies have at most this many characters in all: half a second of
 * processor time beyond that of starting the engine.
 */
const UNASKED_CHARS = 100_000_000;

interface PastOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly prices: Prices;
  /** What simulated compactions leave behind. Default: a summary. */
  readonly leftover?: Leftover;
  /** Whether cuts are measured in however many sessions. */
  readonly cuts: boolean;
  /** Whether this machine's store contains any of these cuts; `null` without a store. */
  readonly isKnown: ((pruneIds: readonly string[]) => Promise<boolean>) | null;
  /** Whether the store has requests of a session; `null` without a store. */
  readonly isProxied: ((session: string) => boolean) | null;
  /** @param done - number of finished files; fractions are parts of a file */
  readonly onProgress: (done: number, agent: string) => void;
}

/** A session with new requests. */
interface NewSession extends Session {
  readonly file: SessionFile;
  /** Requests that count, and their direct predecessors, whose cache affects the next bill. */
  readonly counted: readonly boolean[];
  readonly looked: readonly boolean[];
}

/**
 * Reads session files and bills their requests. To measure cuts, each request also runs through the pruner, which takes
 * far longer. No data leaves the machine.
 */
export class Past {
  readonly #options: PastOptions;
  readonly #settings: Settings;
  readonly #bill: PastBill;
  readonly #whatIf: WhatIf;
  readonly #scales = new Scales();
  readonly #keys = new Set<string>();
  readonly #agents = new Map<string, number>();
  readonly #limits: Reading[] = [];
  #skipped = 0;
  #sessions = 0;
  #throughProxy = 0;
  #done = 0;
  /** Sessions in which cuts are measured if there are not too many; `null` once there are. */
  #few: NewSession[] | null = [];
  #chars = 0;

  constructor(options: PastOptions) {
    this.#options = options;
    this.#settings = { ...options.settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: TIMEOUT_MS };
    this.#bill = new PastBill(options.prices);
    this.#whatIf = new WhatIf(options.prices);
  }

  /** @param files - oldest first; a request in several files counts in the first one */
  async report(files: readonly SessionFile[], sinceMs: number): Promise<SessionsReport> {
    const short: SessionFile[] = [];
    for (const file of files) {
      await this.#read(file, async (session) => {
        if (!this.#options.cuts) this.#keep(this.#newSession(file, session, sinceMs));
        else if (this.#learnScales(session.requests)) await this.#measure(this.#newSession(file, session, sinceMs));
        else short.push(file);
      });
    }
    // sessions too short for their own scale get the mean scale of all others
    this.#done -= short.length;
    for (const file of short)
      await this.#read(file, (session) => this.#measure(this.#newSession(file, session, sinceMs)));
    const few = this.#few ?? [];
    this.#done -= few.length;
    for (const { requests } of few) this.#learnScales(requests);
    for (const session of few) {
      await this.#measure(session);
      this.#done++;
    }
    return {
      files: files.length,
      skipped: this.#skipped,
      sessions: this.#sessions,
      throughProxy: this.#throughProxy,
      measured: this.#few !== null,
      agents: Object.fromEntries(this.#agents),
      limits: pastLimits(this.#limits),
      simulated: true,
      thresholds: this.#whatIf.thresholds(this.#options.leftover ?? USUAL),
      report: this.#bill.report(new Date(sinceMs).toISOString().slice(0, 10)),
    };
  }

  async #read(file: SessionFile, use: (session: Session) => Promise<void>): Promise<void> {
    const { onProgress } = this.#options;
    onProgress(this.#done, file.agent);
    const session = await file.read((share) => onProgress(this.#done + share / 2, file.agent)).catch(() => null); // the other files are still read
    if (session === null) this.#skipped++;
    else await use(session);
    this.#done++;
  }

  /** Learns the scales of the session's models; returns whether there is enough evidence for each. */
  #learnScales(requests: readonly SessionRequest[]): boolean {
    const own = ownScales(requests);
    for (const [model, scale] of own) this.#scales.add(model, scale);
    return requests.every(({ model }) => (own.get(model)?.tokens ?? 0) >= ENOUGH_TOKENS);
  }

  /** Counts a session; `null` if none of its requests is new. */
  #newSession(file: SessionFile, session: Session, sinceMs: number): NewSession | null {
    const { requests, limits = [] } = session;
    const counted = requests.map((request) => request.atMs >= sinceMs && this.#isNew(request));
    const own = counted.filter(Boolean).length;
    if (own === 0) return null;
    this.#sessions++;
    this.#agents.set(file.agent, (this.#agents.get(file.agent) ?? 0) + own);
    for (const reading of limits) if (reading.endedMs >= sinceMs) this.#limits.push(reading);
    this.#whatIf.add(requests.filter((_, i) => counted[i] === true));
    return { file, counted, looked: lookedAt(requests, counted), ...session };
  }

  /** Keeps a session in which cuts may be measured; bills all if that would take too long. */
  #keep(session: NewSession | null): void {
    if (session === null) return;
    this.#chars += bodyChars(session);
    const sessions = this.#few ?? [];
    sessions.push(session);
    if (this.#few !== null && this.#chars <= UNASKED_CHARS) return;
    this.#few = null;
    for (const one of sessions) {
      if (this.#saysProxied(one)) this.#throughProxy++;
      this.#billOnly(one);
    }
  }

  /** Bills a session without a look at cuts. */
  #billOnly({ requests, offered, counted, looked }: NewSession): void {
    for (const [i, request] of requests.entries())
      if (looked[i] === true) this.#bill.add(request, null, { counts: counted[i] === true, bytesPerToken: 1 });
    this.#bill.end(requests, offered);
  }

  /** Bills a session, and what its requests would have cost with cuts. */
  async #measure(session: NewSession | null): Promise<void> {
    if (session === null) return;
    const { file, counted, looked, requests, offered } = session;
    if (this.#saysProxied(session) || (await this.#isKnown(file, requests))) {
      this.#throughProxy++;
      this.#billOnly(session);
      return;
    }
    const scales = this.#scales.ofSession(requests);
    try {
      await this.#each(file, requests, async (request, i, rehearse) => {
        if (looked[i] !== true) return true;
        const bytesPerToken = scales(request.model);
        const rehearsed = request.length === 0 ? null : await rehearse(request, bytesPerToken);
        this.#bill.add(request, rehearsed, { counts: counted[i] === true, bytesPerToken });
        return true;
      });
    } finally {
      this.#bill.end(requests, offered);
    }
  }

  /** A copy of a request may lack the request id: the id of the answer is enough then. */
  #isNew({ key, answer }: SessionRequest): boolean {
    const alike = answer === undefined ? '' : `${answer.bare ? 'any' : 'bare'}\n${answer.id}`;
    const isKnown = this.#keys.has(key) || (alike !== '' && this.#keys.has(alike));
    const own = answer === undefined ? [] : [`any\n${answer.id}`, ...(answer.bare ? [`bare\n${answer.id}`] : [])];
    if (this.#keys.size < MAX_KEYS) for (const one of [key, ...own]) this.#keys.add(one);
    return !isKnown;
  }

  /**
   * Whether a session went through the proxy by its id in the store. Only if the store cannot be asked, signs in the file
   * count: a session about markers contains some, and one without a recovery none.
   */
  #saysProxied({ id, requests }: Session): boolean {
    const { isProxied } = this.#options;
    const isNamed = id !== undefined && id !== '' && isProxied !== null;
    return isNamed ? isProxied(id) : wentThroughProxy(requests);
  }

  /** Whether this machine's store has the cuts computed for a session, which proves that it was pruned. */
  async #isKnown(file: SessionFile, requests: readonly SessionRequest[]): Promise<boolean> {
    const { isKnown } = this.#options;
    if (isKnown === null) return false;
    const ids = new Set<string>();
    await this.#each(file, requests, async (request, _, rehearse) => {
      if (request.length === 0) return true;
      const { outcomes } = await rehearse(request, 1);
      for (const { pruneId } of outcomes) if (pruneId !== null) ids.add(pruneId);
      return ids.size < ASKED;
    });
    return ids.size > 0 && isKnown([...ids].slice(0, ASKED));
  }

  /** Iterates over a session's requests. @param use - returns whether to continue */
  async #each(
    file: SessionFile,
    requests: readonly SessionRequest[],
    use: (
      request: SessionRequest,
      index: number,
      rehearse: (request: SessionRequest, bytesPerToken: number) => Promise<Rehearsed>,
    ) => Promise<boolean>,
  ): Promise<void> {
    const rehearsal = new Rehearsal(this.#settings, this.#options.clock);
    try {
      for (const [i, request] of requests.entries()) {
        const name = `${file.path}\n${request.thread}`;
        if (!(await use(request, i, (one, bytesPerToken) => rehearsal.request(one, name, bytesPerToken)))) break;
        this.#options.onProgress(this.#done + 0.5 + i / (2 * requests.length), file.agent);
      }
    } finally {
      await rehearsal.close();
    }
  }
}

/** Requests that count, and their direct predecessors, whose cache affects the next bill. */
function lookedAt(requests: readonly SessionRequest[], counted: readonly boolean[]): boolean[] {
  const nextCounts = new Map<string, boolean>();
  const looked = requests.map(() => false);
  for (let i = requests.length - 1; i >= 0; i--) {
    const { thread = '' } = requests[i] ?? {};
    looked[i] = counted[i] === true || nextCounts.get(thread) === true;
    nextCounts.set(thread, counted[i] === true);
  }
  return looked;
}

/** Characters of the bodies of the requests that are looked at. */
function bodyChars({ requests, looked }: NewSession): number {
  const ends = new Map<SessionRequest['history'], number[]>();
  let sum = 0;
  for (const [i, { history, length }] of requests.entries()) {
    if (looked[i] !== true) continue;
    const known = ends.get(history) ?? [0];
    ends.set(history, known);
    for (let at = known.length; at <= length; at++) {
      known.push((known[at - 1] ?? 0) + (history[at - 1]?.json.length ?? 0));
    }
    sum += known[length] ?? 0;
  }
  return sum;
}
