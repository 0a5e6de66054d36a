import { decideOnceOf } from '../app/decide-once.ts';
import { rewriterOf } from '../app/rewriter.ts';
import { openStore } from '../app/store.ts';
import type { Settings } from '../config/settings.ts';
import type { RequestFacts } from '../core/ports/ledger.ts';
import type { Clock } from '../core/ports.ts';
import { RefusedConversations } from '../core/refused-conversations.ts';
import type { RequestRewriter } from '../core/rewrite-request.ts';
import type { Rewritten } from '../core/rewritten.ts';
import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import type { SessionRequest } from '../eval/sessions/recorded.ts';
import { factsOf } from '../proxy/ledger-facts.ts';
import type { StoreHandle } from '../store/handle.ts';

const BYTES_PER_TOKEN = 4;

/**
 * What the ledger is told of a request that went out whole: what would have been cut counts as removed from nothing, so the
 * twin bill is the pruned one.
 */
export function unprunedFacts(
  rewritten: Rewritten,
  about: Pick<RequestFacts, 'requestId' | 'project' | 'wire'>,
): Omit<RequestFacts, 'atMs' | 'usage'> {
  const pruned = factsOf(rewritten, { ...about, forwardedOriginal: false });
  const whole = factsOf(rewritten, { ...about, forwardedOriginal: true });
  // as it came, by the estimate that the cuts are told in
  const removedNew = pruned.messages.slice(pruned.fresh.from).reduce((sum, { removed }) => sum + removed, 0);
  return {
    ...whole,
    messages: whole.messages.map((message, i) => ({ ...message, removed: -(pruned.messages[i]?.removed ?? 0) })),
    texts: pruned.texts,
    fresh: { from: whole.fresh.from, tokens: pruned.fresh.tokens + removedNew },
  };
}

/**
 * Sends the requests of one session that is over through the very code of the proxy, and tells what pruning would have
 * changed.
 */
export class Rehearsal {
  readonly #settings: Settings;
  readonly #clock: Clock;
  #open: Promise<{ readonly store: StoreHandle; readonly rewriter: RequestRewriter }> | null = null;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** @param conversationId - stands for the session; `null` for a request that is not understood */
  async facts(request: SessionRequest, conversationId: string): Promise<RequestFacts | null> {
    this.#open ??= this.#start();
    const { rewriter } = await this.#open;
    const dialect = request.wire === 'messages' ? anthropicMessages : openaiResponses;
    const list = request.wire === 'messages' ? 'messages' : 'input';
    const body = Buffer.from(`{"model":${JSON.stringify(request.model)},"${list}":[${request.messages.join(',')}]}`);
    const rewritten = await rewriter.rewrite({ body, dialect });
    const facts = unprunedFacts(rewritten, {
      requestId: `${conversationId}/${request.messages.length}/${request.atMs}`,
      project: request.project,
      wire: request.wire,
    });
    return {
      ...facts,
      conversationId,
      atMs: request.atMs,
      usage: request.usage,
      // tools and instructions do not stand in the file: they are what was billed beyond the messages
      bytes: Math.max(body.length, (request.usage.input ?? 0) * BYTES_PER_TOKEN),
      cacheUpTo: facts.messages.length,
    };
  }

  async close(): Promise<void> {
    await (await this.#open)?.store.close();
  }

  async #start() {
    const settings = this.#settings;
    const clock = this.#clock;
    const store = await openStore(settings, { clock });
    const rewriter = rewriterOf(settings, {
      store,
      clock,
      once: decideOnceOf(settings, store, clock),
      refused: new RefusedConversations(store),
      onFailure: (_, cause) => {
        throw cause;
      },
    });
    return { store, rewriter };
  }
}
