import { decisionCacheOf, rewriterOf } from 'mcp-pruner/app/pipeline.ts';
import { openStore } from 'mcp-pruner/app/store.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { RequestPipeline } from 'mcp-pruner/core/request/pipeline.ts';
import type { TextOutcome } from 'mcp-pruner/core/request/prefix-memo.ts';
import { RefusedConversations } from 'mcp-pruner/core/request/provider-verdicts.ts';
import type { RewrittenRequest } from 'mcp-pruner/core/request/rewritten.ts';
import { unprunedFacts } from 'mcp-pruner/proxy/report/ledger-facts.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { anthropicMessages } from 'mcp-pruner/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect } from 'mcp-pruner/wires/dialects/dialect.ts';
import { openaiChat } from 'mcp-pruner/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from 'mcp-pruner/wires/dialects/openai-responses/dialect.ts';
import type { SessionRequest, SessionWire } from '../readers/recorded.ts';

const WIRES: Readonly<Record<SessionWire, { readonly dialect: Dialect; readonly list: string }>> = {
  messages: { dialect: anthropicMessages, list: 'messages' },
  responses: { dialect: openaiResponses, list: 'input' },
  chat: { dialect: openaiChat, list: 'messages' },
};
const END = ']}';
/** The in-memory store needs no tables of parts. */
const NO_PARTS = { tables: [] };

/** Beyond this size, a restarted history gets a new store, because nothing of the old one is repeated. */
const FRESH_STORE_BYTES = 32 * 1024 * 1024;

export interface Rehearsed {
  readonly facts: RequestFacts;
  /** Bytes that would have been cut from the messages, markers subtracted. */
  readonly cutBytes: number;
  readonly outcomes: readonly TextOutcome[];
  /** Returns a message as it would have been sent. */
  readonly shown: (index: number) => string;
}

/** Runs the requests of one past session through the proxy's own pruning code. */
export class Rehearsal {
  readonly #settings: Settings;
  readonly #clock: Clock;
  #open: Promise<{ readonly store: StoreHandle; readonly rewriter: RequestPipeline }> | null = null;

  /** The newest request, and the texts seen since the store was opened. */
  #last: (Pick<SessionRequest, 'history' | 'length'> & { readonly head: string; readonly body: Buffer }) | null = null;
  #newBytes = 0;

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /**
   * @param conversationId - name of the conversation
   * @param bytesPerToken - bytes per token of this session's model
   */
  async request(request: SessionRequest, conversationId: string, bytesPerToken: number): Promise<Rehearsed> {
    if (request.history !== this.#last?.history && this.#newBytes > FRESH_STORE_BYTES) await this.close();
    this.#newBytes += request.history[request.length - 1]?.json.length ?? 0;
    this.#open ??= this.#start();
    const { rewriter } = await this.#open;
    const body = this.#bodyOf(request);
    const rewritten = await rewriter.rewrite({ body, dialect: WIRES[request.wire].dialect });
    const about = { requestId: conversationId, project: request.project, wire: request.wire };
    const facts = unprunedFacts(rewritten, about);
    const cuts = cutBytesOf(rewritten);
    return {
      facts: {
        ...facts,
        conversationId,
        atMs: request.atMs,
        usage: request.usage,
        // savings are negated, so that the counterfactual bill is the pruned one
        messages: facts.messages.map((message, i) => ({ ...message, removed: -(cuts[i] ?? 0) / bytesPerToken })),
        // session files lack tools and instructions, whose size is what was billed beyond the messages
        bytes: Math.max(body.length, (request.usage.input ?? 0) * bytesPerToken),
        cacheUpTo: request.wire === 'messages' ? facts.messages.length : null,
      },
      cutBytes: cuts.reduce((sum, bytes) => sum + bytes, 0),
      outcomes: rewritten.outcomes.slice(rewritten.newFrom),
      shown: (index) => shownOf(rewritten, index),
    };
  }

  async close(): Promise<void> {
    await (await this.#open)?.store.close();
    this.#open = null;
    this.#newBytes = 0;
  }

  /**
   * The request as sent. A long conversation is copied from its previous request, since encoding it again takes far
   * longer.
   */
  #bodyOf({ wire, model, history, length }: SessionRequest): Buffer {
    const head = `{"model":${JSON.stringify(model)},"${WIRES[wire].list}":[`;
    const last = this.#last;
    const goesOn = last !== null && last.head === head && last.history === history && last.length <= length;
    const before = goesOn ? last.body.subarray(0, -END.length) : Buffer.from(head);
    const from = goesOn ? last.length : 0;
    const more = history.slice(from, length).map(({ json }, i) => (from + i > 0 ? `,${json}` : json));
    const body = Buffer.concat([before, Buffer.from(more.join('') + END)]);
    this.#last = { head, history, length, body };
    return body;
  }

  async #start() {
    const settings = this.#settings;
    const clock = this.#clock;
    const store = await openStore(settings, { edition: NO_PARTS, clock });
    const rewriter = rewriterOf(settings, {
      store,
      clock,
      decisionCache: decisionCacheOf(settings, store, clock),
      refused: new RefusedConversations(store),
      onFailure: (_, cause) => {
        throw cause;
      },
    });
    return { store, rewriter };
  }
}

function cutBytesOf({ messages, edits }: RewrittenRequest): number[] {
  let at = 0;
  return messages.map(({ span }) => {
    let bytes = 0;
    for (let edit = edits[at]; edit && edit.start < span.end; edit = edits[++at]) {
      bytes += edit.end - edit.start - edit.bytes.length;
    }
    return bytes;
  });
}

function shownOf({ received, messages, edits }: RewrittenRequest, index: number): string {
  const span = messages[index]?.span;
  if (span === undefined) return '';
  let text = '';
  let at = span.start;
  for (const { start, end, bytes } of edits) {
    if (start < span.start || start >= span.end) continue;
    text += received.toString('utf8', at, start) + bytes.toString('utf8');
    at = end;
  }
  return text + received.toString('utf8', at, span.end);
}
