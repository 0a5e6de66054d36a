import { crc32 } from 'node:zlib';
import { type Work, waitFor } from '../../base/work.ts';
import type { Resume, ScannedBody, ScannedMessage, ScannedText } from '../../wires/dialects/dialect.ts';
import { Conversation } from '../../wires/goal/conversation.ts';
import type { CallInContext } from '../../wires/goal/kept-conversation.ts';
import { namesRecovery } from '../../wires/transcript/tools.ts';
import { advanceFor, ifLargeInTurns, type Turns, takesTurns } from '../decide/turns.ts';
import { keyOf } from '../hash.ts';
import type { DirectivesView } from '../ports/segments.ts';
import { type ApplicableSteps, applicableSteps } from '../segments/apply-directives.ts';
import { NO_HISTORY } from '../sent/history.ts';
import { type SecondKey, secondKeysOf } from '../sent/second-keys.ts';
import { viewFor } from './collect.ts';
import type { ConversationNames, NamedRequest } from './conversation-names.ts';
import { findTexts } from './find-texts.ts';
import { BodyTexts, type FindSettings, type FoundText } from './found-text.ts';
import { messageTokens } from './message-tokens.ts';
import { type Binding, bindingOf, type Policies } from './policy.ts';
import { type BodyEdit, type PrefixMatch, prefixesOf, type TextOutcome } from './prefix-memo.ts';
import type { AnsweredConversations } from './provider-verdicts.ts';
import { type IncomingRequest, NO_SCOPE, type ReadRequest, type StoreState } from './request.ts';
import type { ReadResult } from './results.ts';
import { sessionOf } from './session.ts';

/** The end of a message, where parsing of the next request may resume. */
interface MessageEnd {
  readonly message: number;
  readonly conversation: Conversation;
  readonly tokens: number;
}

/** A parsed request. Only messages after the remembered ones were read. */
export interface ReadBody {
  readonly scanned: ScannedBody;
  /** From the path or the body; `''` if neither names a model. */
  readonly model: string;
  readonly messages: readonly ScannedMessage[];
  /** For each message, a hash of its meaning and of all messages before it, without instructions (`prefixesOf`). */
  readonly prefixes: readonly string[];
  /** Second keys of new messages, by message prefix. */
  readonly secondKeys: ReadonlyMap<string, readonly SecondKey[]>;
  readonly conversation: Conversation;
  /** Hash of the user's first words; records are filed under it. */
  readonly conversationId: string;
  /** The client's session id, or `''`. */
  readonly session: string;
  /** Id shown to people; equals `conversationId` if the client sends no session id. */
  readonly shownId: string;
  /**
   * Whether this is the first request of its conversation: no model message in it, nor in a stored answer before it.
   */
  readonly begins: boolean;
  /** The remembered body that is a prefix of this one. */
  readonly match: PrefixMatch | null;
  /** Index of the first new message. */
  readonly first: number;
  /** Index of the first message after the model's last answer. */
  readonly tail: number;
  readonly found: readonly FoundText[];
  /** Results in new messages that are long enough to be stored. */
  readonly results: readonly ReadResult[];
  /** The strings of the body decoded so far. */
  readonly texts: BodyTexts;
  /** The call that a text of a new message answers. */
  readonly callOf: (text: ScannedText) => CallInContext | undefined;
  readonly messageEnds: readonly MessageEnd[];
  /** Estimated unpruned tokens of all messages; 0 if no collector is configured. */
  readonly tokens: number;
  readonly editsBefore: readonly BodyEdit[];
  readonly outcomesBefore: readonly TextOutcome[];
}

/** Index of the first message after the model's last answer. */
export function tailOf(messages: readonly ScannedMessage[]): number {
  return messages.findLastIndex(({ role }) => role === 'assistant') + 1;
}

/**
 * Number of remembered message ends: several, because clients that move `cache_control` change the last messages of a
 * body.
 */
export const CHECKPOINTS = 4;

interface ReadOptions {
  readonly find: FindSettings;
  /** See `PipelineOptions`. */
  readonly findOf?: ((project: string, usual: FindSettings) => FindSettings) | undefined;
  /** Whether the tokens of all messages are counted. */
  readonly counting: boolean;
  readonly answers: AnsweredConversations;
  readonly names: Pick<ConversationNames, 'nameOf'>;
  readonly turns: Turns;
}

/** Maximum time spent on the messages of a large request before yielding, in milliseconds. */
const FOLDED_MS = 5;

const NO_STEPS: ApplicableSteps = { scopes: new Set(), joined: '' };

/** A body with known message boundaries, before its messages are read. */
interface Scan {
  readonly match: PrefixMatch | null;
  readonly scanned: ScannedBody;
  readonly prefixes: readonly string[];
  readonly binding: Binding;
  /** The directives that apply under this binding. */
  readonly directives: DirectivesView;
}

/** Parses requests, resuming at the end of the longest remembered prefix. */
export class ReadStage {
  readonly #options: ReadOptions;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  /**
   * @param remembered - the remembered prefix of the request
   * @throws JsonShapeError if the body is not understood
   */
  *run(
    request: IncomingRequest,
    policies: Policies,
    state: StoreState,
    remembered: PrefixMatch | null,
  ): Work<ReadRequest> {
    const { body, scope = NO_SCOPE } = request;
    const { turns, answers } = this.#options;
    const first = remembered?.checkpoint.at ?? 0;
    const scan = yield* waitFor(
      ifLargeInTurns(turns, body.length - first, () => this.#scan(request, remembered, state.directives)),
    );
    const { previous } = scan.scanned;
    if (previous !== '' && state.failure === null) yield* answers.learn(scope.project, previous);
    const folding = this.#fold(request, scan);
    const ms = takesTurns(body.length - first) ? FOLDED_MS : Number.POSITIVE_INFINITY;
    const fold = (): ReadBody | null => advanceFor(folding, ms);
    let read = yield* waitFor(ifLargeInTurns(turns, body.length - first, fold));
    while (read === null) read = yield* waitFor(turns.run(fold));
    return assembled(request, policies, state, scan, read);
  }

  /**
   * Like `run`, but at once. A request that continues a stored answer finds it only in memory.
   *
   * @throws JsonShapeError if the body is not understood
   */
  runNow(request: IncomingRequest, policies: Policies, state: StoreState, remembered: PrefixMatch | null): ReadRequest {
    const scan = this.#scan(request, remembered, state.directives);
    const folding = this.#fold(request, scan);
    let step = folding.next();
    while (!step.done) step = folding.next();
    return assembled(request, policies, state, scan, step.value);
  }

  /** Finds the message boundaries. A remembered body is ignored if different context-GC steps apply now. */
  #scan({ body, dialect }: IncomingRequest, match: PrefixMatch | null, all: DirectivesView): Scan {
    const scanned = dialect.scan(body, match ? resumeAt(match) : undefined);
    const binding = bindingOf(dialect, scanned);
    const directives = viewFor(binding, all);
    const known = match?.body.prefixes.slice(0, match.checkpoint.messages);
    const start = scanned.previous === '' ? '' : keyOf('answer', scanned.previous);
    const prefixes = prefixesOf(body, scanned.messages, known, start);
    const bound = { binding, directives };
    if (match === null || directives.empty) return { match, scanned, prefixes, ...bound };
    const steps = applicableSteps(directives.stepsOf(match.checkpoint.conversation.id), prefixes, match);
    if (steps.joined === match.body.steps) return { match, scanned, prefixes, ...bound };
    const whole = dialect.scan(body);
    return { match: null, scanned: whole, prefixes: prefixesOf(body, whole.messages, [], start), ...bound };
  }

  /** Adds new messages to the conversation and finds their texts, yielding after each message. */
  *#fold(request: IncomingRequest, { match, scanned, prefixes }: Scan): Generator<void, ReadBody> {
    const { body, dialect } = request;
    const { find: usual, findOf, counting, answers } = this.#options;
    const find = findOf?.((request.scope ?? NO_SCOPE).project, usual) ?? usual;
    const checkpoint = match?.checkpoint;
    const first = checkpoint?.messages ?? 0;
    const { messages, previous } = scanned;
    const before = answers.get(previous);
    const conversation = conversationOf(body, scanned, checkpoint?.conversation ?? before);
    const found: FoundText[] = [];
    const results: ReadResult[] = [];
    const texts = new BodyTexts(body);
    const calls = new Map<ScannedText, CallInContext>();
    const messageEnds: MessageEnd[] = [];
    const secondKeys = new Map<string, readonly SecondKey[]>();
    const tail = tailOf(messages);
    const owner = keyOf('owner', request.scope?.project ?? '', request.sender?.account ?? '');
    // without a thread, only messages sent earlier can have been part of one
    const hasKeys = (i: number): boolean => dialect.keepsHistory === 'items' || scanned.thread || i < tail;
    let tokens = checkpoint?.tokens ?? 0;
    for (let i = first; i < messages.length; i++) {
      const message = messages[i];
      if (!message) continue;
      for (const text of message.texts) {
        const call = text.use === 'result' ? conversation.callOf(text.callId, text.name) : undefined;
        if (call) calls.set(text, call);
      }
      found.push(...findTexts({ texts, message, messageIndex: i, conversation, settings: find, results }));
      const keys = hasKeys(i) ? secondKeysOf({ dialect, body, message, conversation, owner }) : [];
      if (keys.length > 0) secondKeys.set(prefixes[i] ?? '', keys);
      if (counting) tokens += messageTokens(body, message);
      if (i >= messages.length - CHECKPOINTS)
        messageEnds.push({ message: i, conversation: conversation.fork(), tokens });
      yield;
    }
    const begins = tail === 0 && (previous === '' || before?.id === '');
    return {
      scanned,
      model: request.model ?? scanned.model,
      messages,
      prefixes,
      secondKeys,
      conversation,
      conversationId: conversation.id,
      begins,
      match,
      first,
      tail,
      found,
      results,
      texts,
      callOf: (text) => calls.get(text),
      messageEnds,
      tokens,
      editsBefore: upTo(match?.body.edits ?? [], checkpoint?.edits ?? 0),
      outcomesBefore: upTo(match?.body.outcomes ?? [], checkpoint?.outcomes ?? 0),
      ...this.#nameOf(request, { scanned, prefixes, contentId: conversation.id, begins }),
    };
  }

  #nameOf(
    { body, dialect, sessions, scope = NO_SCOPE, purpose = 'generate' }: IncomingRequest,
    { scanned, ...read }: Pick<NamedRequest, 'prefixes' | 'contentId' | 'begins'> & Pick<ReadBody, 'scanned'>,
  ): Pick<ReadBody, 'session' | 'shownId'> {
    const { messages, outside, previous } = scanned;
    const session = sessionOf(sessions, { body, messages, outside });
    const { project, requestId, origin = '' } = scope;
    const sum = read.begins ? crc32(body) : 0;
    const about = {
      bytes: body.length,
      sum,
      project,
      requestId,
      session,
      origin,
      previous,
      purpose,
      wire: dialect.name,
    };
    const shownId = this.#options.names.nameOf({ ...about, ...read });
    return { session, shownId };
  }

  /** Names the conversations of further requests with the same body, without keeping it. */
  namer(
    { body, dialect, scope = NO_SCOPE, purpose = 'generate' }: IncomingRequest,
    { session, prefixes, conversationId: contentId, begins, scanned: { previous } }: ReadBody,
  ): (requestId: string) => string {
    const { names } = this.#options;
    const sum = begins ? crc32(body) : 0;
    const { project, origin = '' } = scope;
    const bytes = body.length; // the body itself is not to be kept
    const wire = dialect.name;
    return (requestId) =>
      names.nameOf({
        bytes,
        sum,
        project,
        session,
        origin,
        previous,
        purpose,
        wire,
        requestId,
        prefixes,
        contentId,
        begins,
      });
  }
}

/** A parsed request with its policy, before anything about it was looked up. */
function assembled(
  { body, dialect, scope = NO_SCOPE, signal, sender, onRead }: IncomingRequest,
  policies: Policies,
  state: StoreState,
  { binding, directives }: Scan,
  read: ReadBody,
): ReadRequest {
  const steps = directives.empty
    ? NO_STEPS
    : applicableSteps(directives.stepsOf(read.conversationId), read.prefixes, read.match);
  const policy = binding === 'free' ? policies.free : policies.bound;
  const { found } = read;
  return {
    body,
    dialect,
    scope,
    signal,
    onRead,
    sender,
    policy,
    binding,
    state,
    read,
    steps,
    known: NO_HISTORY,
    found,
  };
}

/** The conversation before the new messages. @param known - its remembered state */
function conversationOf(
  body: Buffer,
  { previous, outside }: ScannedBody,
  known: Conversation | undefined,
): Conversation {
  const conversation = known?.fork() ?? new Conversation();
  if (known === undefined && previous !== '') conversation.detach();
  if (outside.some((span) => namesRecovery(body, span))) conversation.offerRecovery();
  return conversation;
}

function resumeAt({ body, checkpoint }: PrefixMatch): Resume {
  return { at: checkpoint.at, before: body.before, messages: body.messages.slice(0, checkpoint.messages) };
}

/** The first items of a list; the list itself if it is not longer. */
function upTo<T>(list: readonly T[], count: number): readonly T[] {
  return count === list.length ? list : list.slice(0, count);
}
