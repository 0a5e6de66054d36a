import { setImmediate as nextTurn } from 'node:timers/promises';
import { BoundedMap } from '../../base/bounded-map.ts';
import type { FailureReporter } from '../../base/failures.ts';
import { WorkQueue } from '../../base/work-queue.ts';
import type { Purpose, ScannedMessage } from '../../wires/dialects/dialect.ts';
import { decodeString } from '../../wires/json/cursor.ts';
import type { CompactionStore } from '../ports/compactions.ts';
import type { RequestScope } from '../ports/segments.ts';
import type { Clock } from '../ports.ts';
import type { Rewritten } from '../request/rewritten.ts';
import { outsideMessages } from '../request/rewritten.ts';

/**
 * How clients ask for a summary of their own history, taken from the programs: Claude Code 2.1, Codex 0.169, opencode
 * 1.18, Gemini CLI 0.61, Cline 3. `ends` begins a line near the end of the text, because some clients put the history
 * before the prompt.
 */
const PROMPTS: readonly { readonly client: string; readonly begins?: string; readonly ends?: string }[] = [
  { client: 'claude-code', begins: 'Your task is to create a detailed summary of the conversation so far' },
  { client: 'claude-code', begins: 'Your task is to create a detailed summary of this conversation' },
  { client: 'claude-code', begins: 'Your task is to create a detailed summary of the RECENT portion' },
  { client: 'codex', begins: 'You are performing a CONTEXT CHECKPOINT COMPACTION' },
  {
    client: 'opencode',
    ends: 'Create a new anchored summary from the conversation history in the <conversation> tags above',
  },
  { client: 'opencode', begins: 'Here is the conversation so far:\n\n<conversation>' },
  { client: 'opencode', begins: 'Provide a detailed prompt for continuing our conversation above' },
  { client: 'gemini-cli', ends: 'First, reason in your scratchpad. Then, generate the' },
  { client: 'gemini-cli', begins: 'Critically evaluate the <state_snapshot> you just generated' },
  { client: 'cline', begins: 'Summarize this session for continuation. Be concise and factual.' },
  {
    client: 'cline',
    begins: 'The current conversation is rapidly running out of context. Now, your urgent task is to create',
  },
];
/** Precedes the prompt of Claude Code. */
const PREAMBLE = /^CRITICAL: Respond with TEXT ONLY\. Do NOT call any tools\.[\s\S]{0,1000}?(?=Your task is to create)/;
/** Stands before the prompt of Cline. */
const INSTRUCTIONS = /^<explicit_instructions type="(?:summarize_task|condense)">\s{0,20}/;
/** How far from the end of a text `ends` may begin, in characters. */
const TAIL_CHARS = 8_000;

/**
 * The client whose built-in summary prompt this text is; `null` for any other text, including a user's own request for
 * a summary.
 */
export function compactingClient(text: string): string | null {
  const asked = text.trimStart().replace(PREAMBLE, '').replace(INSTRUCTIONS, '');
  const tail = asked.slice(-TAIL_CHARS);
  const found = PROMPTS.find(({ begins, ends }) =>
    begins === undefined ? ends !== undefined && lineBegins(tail, ends) : asked.startsWith(begins),
  );
  return found?.client ?? null;
}

function lineBegins(text: string, words: string): boolean {
  return text.startsWith(words) || text.includes(`\n${words}`);
}

/** Opening words of the summaries that clients substitute for a history. */
const SUMMARIES: readonly string[] = [
  'This session is being continued from a previous conversation',
  'Another language model started to solve this problem and produced a summary',
  'What did we do so far?',
  '<state_snapshot>',
];

/** Whether a user message contains a client's summary of the earlier history. */
export function containsSummary(text: string): boolean {
  const start = text.trimStart().slice(0, 400);
  return SUMMARIES.some((words) => start.startsWith(words)) || start.includes('<state_snapshot>');
}

export interface CompactionWatchOptions {
  readonly store: CompactionStore;
  readonly clock: Clock;
  /** Called when a compaction is seen; for counters. */
  readonly onSeen: () => void;
  readonly onFailure: FailureReporter;
}

/** A parsed request on its way to a model. */
export interface WatchedRequest {
  /** The id of its session, if the client names it in a header; otherwise `''`. */
  readonly session: string;
  readonly purpose: Purpose;
  readonly scope: RequestScope;
  readonly read: Pick<Rewritten, 'messages' | 'received' | 'conversationId' | 'model'>;
}

/**
 * Fields with a session id, searched only outside the messages. The escaped one is in Claude Code's `metadata.user_id`,
 * a string of JSON.
 */
const SESSION_KEYS = ['"prompt_cache_key":"', '"prompt_cache_key": "', '\\"session_id\\":\\"'].map((key) =>
  Buffer.from(key),
);
const MAX_SESSION_CHARS = 200;
const BYTES_PER_TOKEN = 4;
const MAX_SESSIONS = 10_000;
/** Maximum number of bytes of bodies that wait to be examined; more are not examined. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
const MAX_SUMMARY_BYTES = 2_000_000;
const TRIGGER = '"compaction_trigger"';
const COMPACTED = /"type":\s?"compaction"/;

/**
 * Detects compactions of clients, and which conversation continues a compacted one. Runs in the background; no request
 * waits for it.
 */
export class CompactionWatch {
  readonly #options: CompactionWatchOptions;
  /** The current conversation of each session. */
  readonly #current = new BoundedMap<string, string>(MAX_SESSIONS);
  /** How far each conversation was checked for a predecessor. */
  readonly #checked = new BoundedMap<string, Checked>(MAX_SESSIONS);
  readonly #queue: WorkQueue;

  constructor(options: CompactionWatchOptions) {
    const { onFailure } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ maxBytes: MAX_WAITING_BYTES, onFailure, reason: 'compaction_not_noted' });
  }

  /** Records a request that is on its way. Never throws or blocks. */
  record(request: WatchedRequest): void {
    if (request.purpose === 'count') return;
    this.#queue.add(request.read.received.length, () => this.#process(request));
  }

  /** Resolves when all requests received so far have been processed. Never rejects. */
  flush(): Promise<void> {
    return this.#queue.flush();
  }

  async #process({ session: named, purpose, scope, read }: WatchedRequest): Promise<void> {
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
      // some clients send the history as one text; such a request is not part of the conversation
      const continues = isOwn ? conversationId : (this.#current.get(sessionKey) ?? conversationId);
      const tokens = Math.round(received.length / BYTES_PER_TOKEN);
      const model = read.model.slice(0, 200);
      if (await store.add({ project, continues, client, product, model, session, tokens, atMs })) onSeen();
      this.#checked.delete(`${project}\n${conversationId}`);
      return;
    }
    const key = `${project}\n${conversationId}`;
    const checked = this.#checked.get(key);
    if (conversationId === '' || checked?.isLinked) return;
    const isLinked = continuesAnother(messages, received, sharedWith(checked, messages));
    if (isLinked) await store.follow({ project, session, conversation: conversationId, atMs });
    const last = messages.at(-1);
    if (last) this.#checked.set(key, { isLinked, messages: messages.length, last });
    this.#current.set(sessionKey, conversationId);
  }
}

/** The messages of a conversation that were checked, and whether it continues another one. */
interface Checked {
  readonly isLinked: boolean;
  readonly messages: number;
  readonly last: ScannedMessage;
}

/** Number of messages that were checked before: messages known from an earlier request are the same objects. */
function sharedWith(checked: Checked | undefined, messages: readonly ScannedMessage[]): number {
  return checked && messages[checked.messages - 1] === checked.last ? checked.messages : 0;
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

/** Messages at the beginning of a conversation that may contain a client's summary. */
const OPENING = 12;

/**
 * Whether a conversation begins with a client's summary, or contains a provider's summary of its history.
 *
 * @param from - the messages before this one were checked before
 */
function continuesAnother(all: readonly ScannedMessage[], body: Buffer, from: number): boolean {
  const messages = from === 0 ? all : all.slice(from);
  const opening = from >= OPENING ? [] : all.filter(({ role }) => role !== 'other').slice(0, OPENING);
  const users = opening.filter(({ role }) => role === 'user');
  const said = users.flatMap(({ texts }) => texts.filter(({ use }) => use === 'words').map(({ literal }) => literal));
  if (said.some((literal) => containsSummary(textOf(body, literal)))) return true;
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
