import { BoundedMap } from '../../base/bounded-map.ts';
import type { ResultMarks } from '../../core/ports/result-marks.ts';
import type {
  CollectedRequest,
  Collector,
  HeadSums,
  OverTokenBudget,
  SeenRequest,
  SeenSegment,
} from '../../core/ports/segments.ts';
import { conversationKey, pathKey } from '../keys.ts';
import { NEWEST_MESSAGES } from '../newest.ts';
import { freedBy } from '../sweep.ts';
import { type SetAside, type StepOptions, takeStep } from '../take-step.ts';
import type { ColdBooks } from './books.ts';
import { isFailed } from './failed-result.ts';
import { hasHead, type LastAnswer, type LastAnswers } from './last-answers.ts';

/** Why the provider's cache is cold. */
export type ColdCause = 'pause' | 'model' | 'tools' | 'system';

export interface ColdStashOptions extends StepOptions {
  /** `measure`: nothing is put aside, only counted. */
  readonly setting: 'on' | 'measure';
  readonly answers: LastAnswers;
  readonly marks: ResultMarks;
  /** The prune id under which a segment is stashed. */
  readonly stashId: (project: string, segmentId: string) => string;
  /** Whether the provider of a wire is on this machine or its network. */
  readonly isLocal: (wire: string) => boolean;
  readonly books: Pick<ColdBooks, 'putAside'>;
}

/** Shorter results stay. UTF-16 units of the result as the client sent it. */
const LEAST_CHARS = 1_000;
/** Nothing is put aside for less. */
const LEAST_TOKENS = 3_000;
const MAX_CONVERSATIONS = 10_000;

/**
 * Puts old results aside at the first request after the provider has dropped its cache. The history is read anew then
 * in any case, so its change costs nothing and every later turn is cheaper.
 */
export class ColdStash implements Collector {
  readonly #options: ColdStashOptions;
  /** Time of the last answer for which a conversation was judged; 0 if it has none. */
  readonly #judged = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(options: ColdStashOptions) {
    this.#options = options;
  }

  mayNeedStep({ scope: { project }, conversationId, messages, head, nowMs }: CollectedRequest): boolean {
    if (messages <= NEWEST_MESSAGES || conversationId === '') return false;
    const judged = this.#judged.get(conversationKey(project, conversationId));
    const last = this.#options.answers.known(project, conversationId);
    if (last === undefined) return judged === undefined;
    return judged !== last[0]?.atMs && causeOf(last, head(), nowMs) !== null;
  }

  async collect(over: OverTokenBudget): Promise<boolean> {
    const { setting, answers, marks, isLocal, books } = this.#options;
    const { request, nowMs } = over;
    const { project } = over.scope;
    const { conversationId } = request;
    const head = over.head();
    // the cache may be warm by an answer that another process received, or this one before its restart
    const last = await answers.read(project, conversationId, isLocal);
    this.#judged.set(conversationKey(project, conversationId), last[0]?.atMs ?? 0);
    const why = causeOf(last, head, nowMs);
    if (why === null) return false;
    const old = await this.#oldResults(over);
    const tokens = old.reduce((sum, { freed }) => sum + freed, 0);
    if (tokens < LEAST_TOKENS) return false;
    const size = over.tokens || request.segments.reduce((sum, segment) => sum + segment.tokens, 0);
    if (setting === 'on')
      await takeStep(this.#options, { by: 'cold', why }, { ...over, tokens: size }, old, size - tokens);
    else answers.measure(project, conversationId, tokens);
    await marks.noteAside(old.flatMap(({ pruneIds }) => pruneIds));
    const isFirst = request.segments.every(({ directed }) => directed !== 'aside');
    books.putAside(project, head.model, { conversations: isFirst ? 1 : 0, results: old.length, tokens });
    return setting === 'on';
  }

  /** The results that may be put aside. @throws StoreUnavailable */
  async #oldResults({ scope: { project }, request, messageAt }: OverTokenBudget): Promise<readonly Old[]> {
    const { marks, stashId } = this.#options;
    const kept = keptReadings(request);
    const end = request.messages - NEWEST_MESSAGES;
    const old = request.segments.flatMap((segment): Old[] => {
      const { id, ordinal, role, text, exempt, directed } = segment;
      const freed = freedBy(segment);
      if (role !== 'tool' || ordinal >= end || text.length < LEAST_CHARS || freed <= 0) return [];
      if (exempt || directed !== null || kept.has(segment) || text.includes('NO_PRUNE')) return [];
      if (isFailed(text, segment.callId, () => messageAt(ordinal))) return [];
      return [{ id, upTo: ordinal, freed, pruneIds: [...segment.pruneIds, stashId(project, id)] }];
    });
    const ids = old.flatMap(({ pruneIds }) => pruneIds);
    const [givenOut, measured] = await Promise.all([marks.givenOut(ids), marks.putAside(ids)]);
    const stays = (pruneId: string): boolean => givenOut.has(pruneId) || measured.has(pruneId);
    return old.filter(({ pruneIds }) => !pruneIds.some(stays));
  }
}

interface Old extends SetAside {
  readonly freed: number;
  /** Ids under which it is stored. */
  readonly pruneIds: readonly string[];
}

/**
 * Why the cache of a conversation is cold; `null` if it may be warm.
 *
 * @param answers - newest first
 */
function causeOf(answers: readonly LastAnswer[], head: HeadSums, nowMs: number): ColdCause | null {
  const [newest] = answers;
  const last = answers.find((answer) => hasHead(answer, head)) ?? newest;
  if (!newest || !last) return null;
  if (nowMs - last.atMs > last.lifetimeMs) return 'pause';
  if (hasHead(last, head)) return null;
  if (head.model !== newest.model) return 'model';
  return newest.tools !== '' && head.tools !== newest.tools ? 'tools' : 'system';
}

/**
 * The newest reading of each file that the conversation has edited, or that a call or text of the newest messages
 * names.
 */
function keptReadings({ messages, segments }: SeenRequest): ReadonlySet<SeenSegment> {
  const newest = segments.filter(({ ordinal }) => ordinal >= messages - NEWEST_MESSAGES);
  const edited = new Set(segments.flatMap((segment) => segment.edited.map(pathKey)));
  const isNamed = (path: string): boolean =>
    newest.some(({ text, wanted }) => text.includes(path) || wanted.includes(path));
  const readings = new Map<number, SeenSegment>();
  for (const segment of segments)
    if (segment.effect === 'read' && segment.path !== '') readings.set(pathKey(segment.path), segment);
  return new Set([...readings].flatMap(([key, reading]) => (edited.has(key) || isNamed(reading.path) ? reading : [])));
}
