import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { CollectedRequest, HeadSums } from 'mcp-pruner/core/ports/segments.ts';
import { conversationKey } from '../keys.ts';
import { hasHead, type LastAnswer, type LastAnswers } from './last-answers.ts';

/** Reasons why the provider's cache is cold. */
export type ColdCause = 'pause' | 'compaction' | 'model' | 'tools' | 'system';

const MAX_CONVERSATIONS = 10_000;

/** Detects requests whose history the provider must reprocess anyway. Each pause is judged once. */
export class ColdMoments {
  readonly #answers: LastAnswers;
  readonly #isLocal: (wire: string) => boolean;
  /** Time of the last answer for which a conversation was judged; 0 if there is none. */
  readonly #judged = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  /** @param isLocal - whether a wire's provider is on this machine or the local network */
  constructor(answers: LastAnswers, isLocal: (wire: string) => boolean) {
    this.#answers = answers;
    this.#isLocal = isLocal;
  }

  /** Whether this process expects the provider's cache to be cold at a request. Cheap. */
  mayBe({ scope: { project }, conversationId, head, nowMs }: CollectedRequest): boolean {
    if (conversationId === '') return false;
    const judged = this.#judged.get(conversationKey(project, conversationId));
    const last = this.#answers.known(project, conversationId);
    if (last === undefined) return judged === undefined;
    return judged !== (last[0]?.atMs ?? 0) && causeOf(last, head(), nowMs) !== null;
  }

  /**
   * Why the cache of a conversation is cold when a request arrives; `null` if it may be warm.
   *
   * @throws StoreUnavailable
   */
  async causeOf({
    scope: { project },
    conversationId,
    wire,
    head,
    nowMs,
  }: Omit<CollectedRequest, 'tokens' | 'messages'>): Promise<ColdCause | null> {
    // another process, or this one before a restart, may have received an answer that keeps the cache warm
    const last = await this.#answers.read(project, conversationId, this.#isLocal, wire);
    const cause = causeOf(last, head(), nowMs);
    // while the cache is warm, a later request after the same answer may still arrive too late
    if (cause !== null || last.length === 0)
      this.#judged.set(conversationKey(project, conversationId), last[0]?.atMs ?? 0);
    return cause;
  }
}

/** @param answers - newest first */
function causeOf(answers: readonly LastAnswer[], head: HeadSums, nowMs: number): ColdCause | null {
  const { model, tools, summary = '' } = head;
  const [newest] = answers;
  const last = answers.find((answer) => hasHead(answer, head)) ?? newest;
  // the first request after a client's compaction often begins a new conversation
  if (!newest || !last) return summary === '' ? null : 'compaction';
  if (nowMs - last.atMs > last.lifetimeMs) return 'pause';
  if (hasHead(last, head)) return null;
  if (summary !== '' && newest.summary !== undefined && newest.summary !== summary) return 'compaction';
  if (model !== '' && model !== newest.model) return 'model';
  return newest.tools !== '' && tools !== newest.tools ? 'tools' : 'system';
}
