import { setImmediate as nextTurn } from 'node:timers/promises';
import { BoundedMap } from '../../bounded-map.ts';
import type { Purpose, ScannedMessage } from '../../dialects/dialect.ts';
import type { FailureReporter } from '../../failures.ts';
import { decodeString } from '../../json/cursor.ts';
import type { CompactionStore } from '../ports/compactions.ts';
import type { RequestScope } from '../ports/segments.ts';
import type { Clock } from '../ports.ts';
import { outsideMessages } from '../request/outside-messages.ts';
import type { Rewritten } from '../request/rewritten.ts';
import { bringsSummary, compactingClient } from './prompts.ts';

export interface CompactionWatchOptions {
  readonly store: CompactionStore;
  readonly clock: Clock;
  /** A compaction was seen, for counters. */
  readonly onSeen: () => void;
  readonly onFailure: FailureReporter;
}

/** A request on its way to a model, as it was read. */
export interface WatchedRequest {
  /** The id of its session, where the client names it in a header; otherwise `''`. */
  readonly session: string;
  readonly purpose: Purpose;
  readonly scope: RequestScope;
  readonly read: Pick<Rewritten, 'messages' | 'received' | 'conversationId' | 'model'>;
}

/** Unescaped, so never within a text. */
const SESSION_KEYS = ['"prompt_cache_key":"', '"prompt_cache_key": "', '\\"session_id\\":\\"'].map((key) =>
  Buffer.from(key),
);
const MAX_SESSION_CHARS = 200;
const BYTES_PER_TOKEN = 4;
const MAX_SESSIONS = 10_000;
const MAX_SUMMARY_BYTES = 2_000_000;
const TRIGGER = '"compaction_trigger"';
const COMPACTED = /"type":\s?"compaction"/;

/**
 * Notices compactions of clients, and which conversation continues a compacted one. Runs in the background; no request
 * waits for it.
 */
export class CompactionWatch {
  readonly #options: CompactionWatchOptions;
  /** The conversation of a session, while it was not compacted. */
  readonly #current = new BoundedMap<string, string>(MAX_SESSIONS);
  /** Conversations that were looked at for what they continue. */
  readonly #linked = new BoundedMap<string, true>(MAX_SESSIONS);
  #last: Promise<void> = Promise.resolve();

  constructor(options: CompactionWatchOptions) {
    this.#options = options;
  }

  /** Takes a request that is on its way. Neither throws nor waits. */
  see(request: WatchedRequest): void {
    if (request.purpose === 'count') return;
    const { onFailure } = this.#options;
    this.#last = this.#last
      .then(() => this.#look(request))
      .catch((cause: unknown) => onFailure('compaction_not_noted', cause));
  }

  /** Resolves when the requests seen so far are noted. Never rejects. */
  flush(): Promise<void> {
    return this.#last;
  }

  async #look({ session: named, purpose, scope, read }: WatchedRequest): Promise<void> {
    await nextTurn();
    const { store, clock, onSeen } = this.#options;
    const { messages, received, conversationId } = read;
    const { project, client: product = '' } = scope;
    const session =
      named ||
      outsideMessages(read)
        .map(sessionIn)
        .findLast((id) => id !== '') ||
      '';
    const client = purpose === 'compact' ? 'codex' : clientCompacting(messages, received);
    const sessionKey = `${project}\n${session}`;
    const atMs = Math.trunc(clock.nowMs());
    if (client !== null) {
      const isOwn = messages.some(({ role }) => role === 'assistant' || role === 'tool');
      // some clients put the history into one text: then the request is no part of the conversation
      const continues = isOwn ? conversationId : (this.#current.get(sessionKey) ?? conversationId);
      const tokens = Math.round(received.length / BYTES_PER_TOKEN);
      const model = read.model.slice(0, 200);
      if (await store.add({ project, continues, client, product, model, session, tokens, atMs })) onSeen();
      this.#linked.delete(`${project}\n${conversationId}`);
      return;
    }
    const key = `${project}\n${conversationId}`;
    if (conversationId === '' || this.#linked.has(key)) return;
    if (continuesAnother(messages, received)) {
      await store.follow({ project, session, conversation: conversationId, atMs });
      this.#linked.set(key, true);
    }
    this.#current.set(sessionKey, conversationId);
  }
}

/** The client whose request for a summary this is, or `null`. */
function clientCompacting(messages: readonly ScannedMessage[], body: Buffer): string | null {
  const last = messages.at(-1);
  if (!last) return null;
  if (
    last.span.end - last.span.start < 300 &&
    body.toString('latin1', last.span.start, last.span.end).includes(TRIGGER)
  )
    return 'codex';
  if (last.role !== 'user') return null;
  const words = last.texts.filter(({ use }) => use === 'words').at(-1);
  return words ? compactingClient(textOf(body, words.literal)) : null;
}

/** Whether a conversation begins with a client's summary, or contains a provider's summary of its history. */
function continuesAnother(messages: readonly ScannedMessage[], body: Buffer): boolean {
  const opening = messages.filter(({ role }) => role !== 'other').slice(0, 12);
  const users = opening.filter(({ role }) => role === 'user');
  const said = users.flatMap(({ texts }) => texts.filter(({ use }) => use === 'words').map(({ literal }) => literal));
  if (said.some((literal) => bringsSummary(textOf(body, literal)))) return true;
  return messages.some(
    ({ role, span }) =>
      role === 'other' && COMPACTED.test(body.toString('latin1', span.start, Math.min(span.end, span.start + 200))),
  );
}

function textOf(body: Buffer, { start, end }: { readonly start: number; readonly end: number }): string {
  return end - start > MAX_SUMMARY_BYTES ? '' : (decodeString(body, start, end) ?? '');
}

function sessionIn(body: Buffer): string {
  for (const key of SESSION_KEYS) {
    const at = body.lastIndexOf(key);
    if (at < 0) continue;
    const from = at + key.length;
    const [id = ''] = /^[\w.:-]*/.exec(body.toString('latin1', from, from + MAX_SESSION_CHARS)) ?? [];
    if (id !== '') return id;
  }
  return '';
}
