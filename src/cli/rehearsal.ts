import { decideOnceOf } from '../app/decide-once.ts';
import { rewriterOf } from '../app/rewriter.ts';
import { openStore } from '../app/store.ts';
import type { Settings } from '../config/settings.ts';
import type { RequestFacts } from '../core/ports/ledger.ts';
import type { Clock } from '../core/ports.ts';
import { RefusedConversations } from '../core/request/refused-conversations.ts';
import type { RequestRewriter } from '../core/request/rewrite-request.ts';
import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { openaiResponses } from '../dialects/openai-responses/dialect.ts';
import type { SessionRequest } from '../eval/sessions/recorded.ts';
import { unprunedFacts } from '../proxy/report/ledger-facts.ts';
import type { StoreHandle } from '../store/handle.ts';

const BYTES_PER_TOKEN = 4;
/** Past it the store is left behind once a history begins anew: nothing of it comes again. */
const FRESH_STORE_BYTES = 32 * 1024 * 1024;

/**
 * Sends the requests of one session that is over through the very code of the proxy, and tells what pruning would have
 * changed.
 */
export class Rehearsal {
  readonly #settings: Settings;
  readonly #clock: Clock;
  #open: Promise<{ readonly store: StoreHandle; readonly rewriter: RequestRewriter }> | null = null;

  /** The first message of the newest request, and what came new since the store was opened. */
  #begin = '';
  #newBytes = 0;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** @param conversationId - stands for the session; `null` for a request that is not understood */
  async facts(request: SessionRequest, conversationId: string): Promise<RequestFacts | null> {
    const [begin = ''] = request.messages;
    if (begin !== this.#begin && this.#newBytes > FRESH_STORE_BYTES) await this.close();
    this.#newBytes += (request.messages.at(-1) ?? '').length;
    this.#begin = begin;
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
    this.#open = null;
    this.#newBytes = 0;
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
