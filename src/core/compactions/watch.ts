import { BoundedMap } from '../../base/bounded-map.ts';
import type { FailureReporter } from '../../base/failures.ts';
import { WorkQueue } from '../../base/work-queue.ts';
import type { CompactionStore } from '../ports/compactions.ts';
import type { Observer, Seen, SeenMessage, SeenRequestHead } from '../ports/seen.ts';
import type { Clock } from '../ports.ts';
import { ReportedBodies } from './reported-bodies.ts';
import { compactingClient, containsSummary } from './signs.ts';

interface CompactionWatchOptions {
  readonly store: CompactionStore;
  readonly clock: Clock;
  /** Called for each conversation that goes on from a client's summary; increments counters. */
  readonly onSeen: () => void;
  readonly onFailure: FailureReporter;
}

const BYTES_PER_TOKEN = 4;
const MAX_SESSIONS = 10_000;
/** Byte limit for compactions that wait to be stored; later ones are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;
const MAX_NAME_CHARS = 200;
const TRIGGER = '"compaction_trigger"';
const COMPACTED = /"type":\s?"compaction"/;

/** Signs of a compaction, collected while the messages of a request arrive part by part. */
interface Signs {
  readonly request: SeenRequestHead;
  /** The conversation continues another one. */
  continuesAnother: boolean;
  /** More than one text: some clients send the whole history as one text, which is not a conversation. */
  hasHistory: boolean;
}

/**
 * Detects client compactions and the conversations that continue from them. Stores both in the background; no request
 * waits for it.
 */
export class CompactionWatch implements Observer {
  readonly #options: CompactionWatchOptions;
  /** The current conversation of each session. */
  readonly #current = new BoundedMap<string, string>(MAX_SESSIONS);
  /** Conversations already linked to the one they continue. */
  readonly #linked = new BoundedMap<string, true>(MAX_SESSIONS);
  readonly #reported = new ReportedBodies();
  readonly #queue: WorkQueue;
  #signs: Signs | null = null;

  constructor(options: CompactionWatchOptions) {
    const { onFailure } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ maxBytes: MAX_WAITING_BYTES, onFailure, reason: 'compaction_not_noted' });
  }

  begin(request: SeenRequestHead): void {
    if (request.purpose === 'compact') this.#compacted(request, 'codex', request.messages > 1);
  }

  newFrom(request: SeenRequestHead): number {
    if (request.purpose !== 'generate') return request.messages;
    return request.first > 0 ? request.first : this.#reported.firstNew(keyOf(request), request.prefixes);
  }

  see({ request, messages, isLast }: Seen): void {
    if (this.#signs?.request !== request)
      this.#signs = { request, continuesAnother: false, hasHistory: (messages[0]?.index ?? 0) > 0 };
    const signs = this.#signs;
    for (const message of messages) {
      signs.continuesAnother ||= continuesAnother(message, request.opening);
      signs.hasHistory ||= message.role === 'assistant' || message.role === 'tool';
    }
    if (!isLast) return;
    this.#signs = null;
    if (request.first === 0) this.#reported.add(keyOf(request), request.prefixes);
    const last = messages.at(-1);
    const client = last ? clientCompacting(last) : null;
    if (client !== null) this.#compacted(request, client, signs.hasHistory);
    else this.#goesOn(request, signs.continuesAnother);
  }

  /** Resolves when all compactions seen so far are stored. Never rejects. */
  flush(): Promise<void> {
    return this.#queue.flush();
  }

  #compacted(request: SeenRequestHead, client: string, hasHistory: boolean): void {
    const { scope, session, bytes, conversationId } = request;
    const { project, client: product = '' } = scope;
    const continues = hasHistory ? conversationId : (this.#current.get(sessionKey(request)) ?? conversationId);
    const tokens = Math.round(bytes / BYTES_PER_TOKEN);
    const model = request.model.slice(0, MAX_NAME_CHARS);
    const compaction = { project, continues, client, product, model, session, tokens, atMs: this.#nowMs() };
    this.#linked.delete(keyOf(request));
    this.#queue.add(0, async () => {
      await this.#options.store.add(compaction);
    });
  }

  /** Handles a request that is not a compaction. */
  #goesOn(request: SeenRequestHead, isNew: boolean): void {
    const { scope, session, conversationId: conversation } = request;
    if (conversation === '') return;
    this.#current.set(sessionKey(request), conversation);
    const key = keyOf(request);
    if (!isNew || this.#linked.has(key)) return;
    this.#linked.set(key, true);
    const follower = { project: scope.project, session, conversation, atMs: this.#nowMs() };
    this.#queue.add(0, async () => {
      if ((await this.#options.store.follow(follower)) !== null) this.#options.onSeen();
    });
  }

  #nowMs(): number {
    return Math.trunc(this.#options.clock.nowMs());
  }
}

function keyOf({ scope, conversationId }: SeenRequestHead): string {
  return `${scope.project}\n${conversationId}`;
}

function sessionKey({ scope, session }: SeenRequestHead): string {
  return `${scope.project}\n${session}`;
}

/** The client whose summary request ends with this message, or `null`. */
function clientCompacting({ role, words, head }: SeenMessage): string | null {
  if (head.includes(TRIGGER)) return 'codex';
  const text = role === 'user' ? words.at(-1) : undefined;
  return text === undefined ? null : compactingClient(text);
}

/** Whether a message shows that the conversation begins with a summary, made by a client or a provider. */
function continuesAnother({ index, role, words, head }: SeenMessage, opening: number): boolean {
  if (role === 'other') return COMPACTED.test(head);
  return role === 'user' && index < opening && words.some(containsSummary);
}
