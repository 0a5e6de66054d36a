import type { Dialect, ScannedMessage, ScannedText } from '../dialects/dialect.ts';
import type { RenderOptions } from '../engine/text/render.ts';
import { type CallInContext, Conversation } from '../goal/conversation.ts';
import type { DecisionMaker } from './decision-maker.ts';
import { direct, type HeldSteps, heldSteps, NO_DIRECTIVES } from './directed.ts';
import { type FindSettings, type FoundText, findTexts } from './find-texts.ts';
import { pruneIdsIn } from './hash.ts';
import { KeptBytes } from './kept-bytes.ts';
import type { LeftAlone } from './left-alone.ts';
import { messageTokens, requestTokens } from './message-tokens.ts';
import type { DirectivesView, RequestScope, SegmentPorts } from './ports/segments.ts';
import type { Clock, Store } from './ports.ts';
import { type Checkpoint, type PrefixMatch, PrefixMemo, type RememberedBody, type TextOutcome } from './prefix-memo.ts';
import { prefixesOf } from './prefixes.ts';
import { type DecidedRequest, SegmentTeller } from './segment-teller.ts';
import { settleTexts } from './settle-texts.ts';
import { type Spliced, type SpliceInput, splice } from './splice.ts';

/** A request's body, and all that decides what becomes of it beside the settings. */
export interface IncomingRequest {
  /** Plain JSON. */
  readonly body: Buffer;
  readonly dialect: Dialect;
  readonly scope?: RequestScope;
}

export interface RewriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly decisions: DecisionMaker;
  readonly find: FindSettings;
  readonly render: RenderOptions;
  readonly leftAlone: LeftAlone;
  /** What was asked of single segments, and who wants to hear of them; without it nobody does. */
  readonly segments?: SegmentPorts;
  /** Told of a fault that costs nothing now; `reason` is a short constant code. */
  readonly onFailure: (reason: string, cause: unknown) => void;
  /** Most memory for remembered bodies, in bytes. */
  readonly memoBytes: number;
}

/** A request after pruning. `body` is the very Buffer that came in when nothing was cut. */
export interface Rewritten {
  readonly body: Buffer;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ScannedMessage[];
  /** For each message what stands for it and all before it. */
  readonly prefixes: readonly string[];
  /** Stands for the conversation: a hash of how it begins. */
  readonly conversationId: string;
  /** The conversation was left alone: an upstream refused a pruned request of it before. */
  readonly leftAlone: boolean;
  /** Every text that was large enough, also those of messages seen before. */
  readonly outcomes: readonly TextOutcome[];
  /** Outcomes from this index on are new in this request. */
  readonly newFrom: number;
  /** Codes of what a backend failed at; its texts were ranked without it. */
  readonly fallbacks: readonly string[];
}

/** Message ends that are remembered: clients that move `cache_control` change the last messages of a body. */
const CHECKPOINTS = 4;
const MAX_TOUCHED = 256;
/** A smaller body with nothing to prune is walked faster than it is remembered. */
const MIN_REMEMBERED_BYTES = 64 * 1024;

/**
 * The pipeline of one request: find the texts, decide, splice. Nothing outside the cuts changes by a byte, and what
 * is decided for messages `0…i` depends on these alone.
 */
export class RequestRewriter {
  readonly #options: RewriterOptions;
  readonly #memo: PrefixMemo;
  readonly #teller: SegmentTeller | null;

  constructor(options: RewriterOptions) {
    const { segments, find, onFailure } = options;
    this.#options = options;
    this.#memo = new PrefixMemo(options.memoBytes);
    this.#teller = segments
      ? new SegmentTeller({ segments, find, onFailure, rememberedFrom: MIN_REMEMBERED_BYTES })
      : null;
  }

  /**
   * Rewrites the body of a request. The originals of all that was cut are durable when it resolves.
   *
   * @throws JsonShapeError when the body is not understood, StoreUnavailable when nothing can be kept; the caller
   * then sends the body as it came
   */
  rewrite(request: IncomingRequest): Promise<Rewritten> {
    return this.#rewrite(request, true);
  }

  async #rewrite(request: IncomingRequest, mayCollect: boolean): Promise<Rewritten> {
    const { body, scope = NO_SCOPE } = request;
    const { store, clock, segments } = this.#options;
    const epoch = store.epoch();
    const directives = (await segments?.directives.view(scope.project)) ?? NO_DIRECTIVES;
    const now = clock.nowMs();
    const match = this.#find(request, epoch, directives.mark, now);
    const start = this.#read(request, match);
    if (this.#options.leftAlone.covers(start.prefixes)) {
      const alone = untouched(start);
      return { ...rewritten(alone, { body, edits: [], outcomes: [], counts: [] }, []), leftAlone: true };
    }
    await this.#keepAlive(body, match?.checkpoint.at ?? 0);
    const deadline = this.#options.decisions.deadline();
    const read = this.#direct(request, start, match, directives);
    const { decisionOf, fallbacks } = await settleTexts(read.found, read.outcomesBefore, deadline, this.#options);
    const result = splice(body, read, decisionOf, this.#options.render);
    const decided = decidedRequest(body, read, decisionOf, scope, directives);
    if (mayCollect && (await this.#collected(request, decided, read, result.outcomes, deadline))) {
      return this.#rewrite(request, false);
    }
    const storedAtMs = read.match?.body.storedAtMs ?? now;
    this.#remember(request, read, result, { epoch, storedAtMs, directives: directives.mark, steps: read.steps.mark });
    this.#teller?.tell(decided);
    return rewritten(read, result, fallbacks);
  }

  /** What would be cut, without a store and without changing anything. */
  async rewriteDry(request: IncomingRequest): Promise<Rewritten> {
    const { body } = request;
    const read = this.#read(request, null);
    const jobs = read.found.filter(({ skip }) => skip === '').map(({ job }) => job);
    const decided = new Map((await this.#options.decisions.decideDry(jobs)).map((decision, i) => [jobs[i], decision]));
    const result = splice(body, read, ({ job }) => decided.get(job) ?? null, this.#options.render);
    return rewritten(read, result, []);
  }

  #find({ body, dialect }: IncomingRequest, epoch: string, directives: string, now: number): PrefixMatch | null {
    const { trustMs } = this.#options.decisions;
    return this.#memo.find(
      body,
      (known) =>
        known.dialect === dialect.name &&
        known.epoch === epoch &&
        known.directives === directives &&
        now >= known.storedAtMs &&
        now - known.storedAtMs < trustMs,
    );
  }

  #read({ body, dialect }: IncomingRequest, match: PrefixMatch | null): ReadBody {
    const checkpoint = match?.checkpoint;
    const resume =
      match && checkpoint
        ? {
            at: checkpoint.at,
            before: match.body.before,
            messages: match.body.messages.slice(0, checkpoint.messages),
          }
        : undefined;
    const scanned = dialect.scan(body, resume);
    const prefixes = prefixesOf(dialect, body, scanned.messages, match?.body.prefixes.slice(0, checkpoint?.messages));
    const conversation = checkpoint?.conversation.fork() ?? new Conversation();
    const first = checkpoint?.messages ?? 0;
    const found: FoundText[] = [];
    const calls = new Map<ScannedText, CallInContext>();
    const marks: Mark[] = [];
    const counting = this.#options.segments?.collector !== undefined;
    let tokens = checkpoint?.tokens ?? 0;
    for (let i = first; i < scanned.messages.length; i++) {
      const message = scanned.messages[i];
      if (!message) continue;
      for (const text of message.texts) {
        const call = text.use === 'result' ? conversation.callOf(text.callId, text.name) : undefined;
        if (call) calls.set(text, call);
      }
      found.push(...findTexts(body, message, i, conversation, this.#options.find));
      if (counting) tokens += messageTokens(body, message);
      if (i >= scanned.messages.length - CHECKPOINTS) {
        marks.push({ message: i, conversation: conversation.fork(), tokens });
      }
    }
    return {
      scanned,
      messages: scanned.messages,
      prefixes,
      conversationId: conversation.id,
      match,
      first,
      found,
      callOf: (text) => calls.get(text),
      marks,
      tokens,
      steps: NO_STEPS,
      editsBefore: match?.body.edits.slice(0, checkpoint?.edits) ?? [],
      outcomesBefore: match?.body.outcomes.slice(0, checkpoint?.outcomes) ?? [],
    };
  }

  /** Lets the directives have their say; reads anew where the remembered body had others. */
  #direct(request: IncomingRequest, start: ReadBody, match: PrefixMatch | null, directives: DirectivesView): ReadBody {
    if (directives.empty) return start;
    const steps = heldSteps(directives.stepsOf(start.conversationId), start.prefixes, match);
    const read = match && match.body.steps !== steps.mark ? this.#read(request, null) : start;
    const toolOf = (text: ScannedText): string => (text.use === 'result' ? (read.callOf(text)?.name ?? text.name) : '');
    const { body, scope = NO_SCOPE } = request;
    return {
      ...read,
      steps,
      found: direct(body, { ...read, toolOf }, scope.project, directives, steps, this.#options.find.reasonLanguage),
    };
  }

  /** Whether the conversation passed its budget and a step was taken, so that the request is to be rewritten anew. */
  async #collected(
    request: IncomingRequest,
    decided: DecidedRequest,
    read: ReadBody,
    outcomes: readonly TextOutcome[],
    deadline: number,
  ): Promise<boolean> {
    const collector = this.#options.segments?.collector;
    if (!collector || !this.#teller) return false;
    const { body, scope, directives, conversationId } = decided;
    const tokens = requestTokens(body, decided.messages, read.tokens, outcomes);
    if (!collector.wants(scope, conversationId, tokens)) return false;
    const messages = decided.messages.length - CHECKPOINTS; // the last ones may come back changed
    const hash = read.prefixes[messages - 1];
    if (hash === undefined) return false;
    let all: DecidedRequest = decided;
    if (decided.first > 0) {
      const whole = this.#direct(request, this.#read(request, null), null, directives);
      const { decisionOf } = await settleTexts(whole.found, [], deadline, this.#options);
      all = decidedRequest(body, whole, decisionOf, scope, directives);
    }
    try {
      const step = { scope: hash, conversation: conversationId, messages };
      return await collector.collect({ scope, request: this.#teller.seen(all), tokens, step });
    } catch (cause) {
      this.#options.onFailure('not_collected', cause);
      return false;
    }
  }

  /** Slides the expiry of every prune that a marker in the new part of the body names, whoever wrote it there. */
  async #keepAlive(body: Buffer, from: number): Promise<void> {
    const needle = 'prune_id=prn_';
    const ids = new Set<string>();
    for (let at = body.indexOf(needle, from); at >= 0 && ids.size < MAX_TOUCHED; at = body.indexOf(needle, at + 1)) {
      for (const id of pruneIdsIn(body.toString('latin1', at, at + 32))) ids.add(id);
    }
    if (ids.size === 0) return;
    const { store, onFailure } = this.#options;
    await store.commit({ decisions: [], touch: [...ids] }, 0).catch((cause: unknown) => onFailure('not_slid', cause));
  }

  #remember(
    { body, dialect }: IncomingRequest,
    read: ReadBody,
    { edits, outcomes, counts }: Spliced,
    validity: Pick<RememberedBody, 'epoch' | 'storedAtMs' | 'directives' | 'steps'>,
  ): void {
    const { match } = read;
    const { before, messages } = read.scanned;
    const checkpoints: Checkpoint[] = read.marks.map(({ message, conversation, tokens }) => {
      const done = counts[read.found.filter(({ messageIndex }) => messageIndex <= message).length];
      return {
        at: messages[message]?.span.end ?? 0,
        messages: message + 1,
        edits: done?.edits ?? 0,
        outcomes: done?.outcomes ?? 0,
        tokens,
        conversation,
      };
    });
    const last = checkpoints.at(-1);
    if (!last || (outcomes.length === 0 && body.length < MIN_REMEMBERED_BYTES)) return;
    const known = match
      ? match.body.checkpoints.filter(({ messages: count }) => count <= match.checkpoint.messages)
      : [];
    const remembered: RememberedBody = {
      prefix: KeptBytes.of(body, last.at, match?.body.prefix ?? null, match?.checkpoint.at ?? 0),
      dialect: dialect.name,
      before,
      messages,
      prefixes: read.prefixes,
      edits,
      outcomes,
      checkpoints: [...known, ...checkpoints].slice(-CHECKPOINTS),
      ...validity,
    };
    this.#memo.add(remembered, match?.body ?? null);
  }
}

/** A message end that the next request may go on from. */
interface Mark {
  readonly message: number;
  readonly conversation: Conversation;
  readonly tokens: number;
}

interface ReadBody extends SpliceInput {
  readonly messages: readonly ScannedMessage[];
  /** For each message what stands for it and all before it. */
  readonly prefixes: readonly string[];
  readonly conversationId: string;
  /** The remembered body that it goes on from. */
  readonly match: PrefixMatch | null;
  /** Index of the first message that is new. */
  readonly first: number;
  /** The call that a text of a new message answers. */
  readonly callOf: (text: ScannedText) => CallInContext | undefined;
  readonly marks: readonly Mark[];
  /** Of all messages as they came; 0 when nobody keeps a budget. */
  readonly tokens: number;
  readonly steps: HeldSteps;
}

const NO_SCOPE: RequestScope = { project: 'default', task: '', requestId: '' };
const NO_STEPS: HeldSteps = { scopes: new Set(), mark: '' };

/** Field by field: V8 gives what is spread and then added to a slow form, and this is made for every request. */
function decidedRequest(
  body: Buffer,
  { messages, first, found, callOf, conversationId, steps }: ReadBody,
  decisionOf: DecidedRequest['decisionOf'],
  scope: RequestScope,
  directives: DirectivesView,
): DecidedRequest {
  return { messages, first, found, callOf, decisionOf, body, conversationId, steps, scope, directives };
}

/** The same body with nothing to do in it. */
function untouched(read: ReadBody): ReadBody {
  return { ...read, found: [], editsBefore: [], outcomesBefore: [] };
}

function rewritten(read: ReadBody, { body, outcomes }: Spliced, fallbacks: readonly string[]): Rewritten {
  const { model, stream, messages } = read.scanned;
  const newFrom = read.outcomesBefore.length;
  return {
    body,
    model,
    stream,
    messages,
    prefixes: read.prefixes,
    conversationId: read.conversationId,
    leftAlone: false,
    outcomes,
    newFrom,
    fallbacks,
  };
}
