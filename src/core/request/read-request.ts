import type { Dialect, ScannedBody, ScannedMessage, ScannedText } from '../../dialects/dialect.ts';
import { type CallInContext, Conversation } from '../../goal/conversation.ts';
import { namesRecovery } from '../../transcript/tools.ts';
import { keyOf } from '../hash.ts';
import type { RequestScope } from '../ports/segments.ts';
import { type FindSettings, type FoundText, findTexts } from './find-texts.ts';
import { messageTokens } from './message-tokens.ts';
import type { BodyEdit, PrefixMatch, TextOutcome } from './prefix-memo.ts';
import { prefixesOf, resultKeyOf } from './prefixes.ts';

/** A request's body, and all that decides what becomes of it beside the settings. */
export interface IncomingRequest {
  /** Plain JSON. */
  readonly body: Buffer;
  readonly dialect: Dialect;
  readonly scope?: RequestScope;
  /**
   * `leave`: what was sent before is sent again, and what is new stays as it came, and will: where pruning is switched off
   * on a wire whose provider checks the past. `replay`: as `leave` for this request alone, which is answered by no model.
   * Default: `decide`.
   */
  readonly newTexts?: 'decide' | 'leave' | 'replay';
  /**
   * `decide`: also what was answered already, and nothing is known of, is cut, as it would have been when it was new: for
   * a provider that refused it whole. Default: it stays as it came.
   */
  readonly past?: 'leave' | 'decide';
  /**
   * `refuse`: where the store cannot say how something was sent that may have been cut, or whether it took what was to be
   * sent now, nothing is rewritten, and `PastUnknown` is thrown. Default: it goes as it came.
   */
  readonly unknownPast?: 'leave' | 'refuse' | undefined;
  /** Whether nobody waits any more: something else was sent, so nothing of this may be noted. */
  readonly isOver?: (() => boolean) | undefined;
}

/** A message end that the next request may go on from. */
export interface Mark {
  readonly message: number;
  readonly conversation: Conversation;
  readonly tokens: number;
}

/** What a request says, from the first message on that is not remembered. */
export interface ReadBody {
  readonly scanned: ScannedBody;
  readonly messages: readonly ScannedMessage[];
  /** For each message what stands for it and all before it. */
  readonly prefixes: readonly string[];
  /** Second keys of new messages, by their prefixes: see `resultKeyOf`. */
  readonly resultKeys: ReadonlyMap<string, string>;
  readonly conversation: Conversation;
  readonly conversationId: string;
  /** The remembered body that it goes on from. */
  readonly match: PrefixMatch | null;
  /** Index of the first message that is new. */
  readonly first: number;
  /** Index of the first message that no answer of the model's stands behind. */
  readonly tail: number;
  readonly found: readonly FoundText[];
  /** The call that a text of a new message answers. */
  readonly callOf: (text: ScannedText) => CallInContext | undefined;
  readonly marks: readonly Mark[];
  /** Of all messages as they came; 0 when nobody keeps a budget. */
  readonly tokens: number;
  readonly editsBefore: readonly BodyEdit[];
  readonly outcomesBefore: readonly TextOutcome[];
}

/** Index of the first message that no answer of the model's stands behind. */
export function tailOf(messages: readonly ScannedMessage[]): number {
  return messages.findLastIndex(({ role }) => role === 'assistant') + 1;
}

/** Message ends that are remembered: clients that move `cache_control` change the last messages of a body. */
export const CHECKPOINTS = 4;

export interface ReadOptions {
  readonly find: FindSettings;
  /** Whether the tokens of all messages are counted. */
  readonly counting: boolean;
  /** The conversation that an answer kept by the provider ended with. */
  readonly conversationOf: (answerId: string) => Conversation | undefined;
}

/**
 * Reads a request, from where a remembered body ends.
 *
 * @throws JsonShapeError when the body is not understood
 */
export function readRequest(
  { body, dialect }: IncomingRequest,
  match: PrefixMatch | null,
  { find, counting, conversationOf }: ReadOptions,
): ReadBody {
  const checkpoint = match?.checkpoint;
  const first = checkpoint?.messages ?? 0;
  const scanned =
    match && checkpoint
      ? dialect.scan(body, {
          at: checkpoint.at,
          before: match.body.before,
          messages: match.body.messages.slice(0, first),
        })
      : dialect.scan(body);
  const { messages, previous } = scanned;
  const start = previous === '' ? '' : keyOf('answer', previous);
  const prefixes = prefixesOf(dialect, body, messages, match?.body.prefixes.slice(0, first), start);
  const conversation = (checkpoint?.conversation ?? conversationOf(previous))?.fork() ?? new Conversation();
  if (scanned.beside.some((span) => namesRecovery(body, span))) conversation.offerRecovery();
  const found: FoundText[] = [];
  const calls = new Map<ScannedText, CallInContext>();
  const marks: Mark[] = [];
  const resultKeys = new Map<string, string>();
  let tokens = checkpoint?.tokens ?? 0;
  for (let i = first; i < messages.length; i++) {
    const message = messages[i];
    if (!message) continue;
    for (const text of message.texts) {
      const call = text.use === 'result' ? conversation.callOf(text.callId, text.name) : undefined;
      if (call) calls.set(text, call);
    }
    found.push(...findTexts({ bytes: body, message, messageIndex: i, conversation, settings: find }));
    const resultKey = resultKeyOf(dialect, body, message, conversation);
    if (resultKey !== '') resultKeys.set(prefixes[i] ?? '', resultKey);
    if (counting) tokens += messageTokens(body, message);
    if (i >= messages.length - CHECKPOINTS) marks.push({ message: i, conversation: conversation.fork(), tokens });
  }
  return {
    scanned,
    messages,
    prefixes,
    resultKeys,
    conversation,
    conversationId: conversation.id,
    match,
    first,
    tail: tailOf(messages),
    found,
    callOf: (text) => calls.get(text),
    marks,
    tokens,
    editsBefore: upTo(match?.body.edits ?? [], checkpoint?.edits ?? 0),
    outcomesBefore: upTo(match?.body.outcomes ?? [], checkpoint?.outcomes ?? 0),
  };
}

/** The first of a list; the very list where these are all. */
function upTo<T>(list: readonly T[], count: number): readonly T[] {
  return count === list.length ? list : list.slice(0, count);
}
