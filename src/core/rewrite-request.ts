import { type ScannedBody, type ScannedMessage, scanChatBody } from '../dialects/chat-body.ts';
import { encodeEdits } from '../dialects/json-string.ts';
import { splitLines } from '../engine/lines.ts';
import { annotate, applyEdits, type Edit, editsOf, type RenderOptions } from '../engine/render.ts';
import { estimateTokens } from '../engine/tokens.ts';
import { Conversation } from '../goal/conversation.ts';
import type { Job } from './decide.ts';
import type { DecisionMaker } from './decision-maker.ts';
import { type FindSettings, type FoundText, findTexts } from './find-texts.ts';
import { pruneIdsIn } from './hash.ts';
import type { LeftAlone } from './left-alone.ts';
import type { Clock, Decision, Store } from './ports.ts';
import {
  type BodyEdit,
  type Checkpoint,
  type PrefixMatch,
  PrefixMemo,
  type RememberedBody,
  type TextOutcome,
} from './prefix-memo.ts';

export interface RewriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly decisions: DecisionMaker;
  readonly find: FindSettings;
  readonly render: RenderOptions;
  readonly leftAlone: LeftAlone;
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

  constructor(options: RewriterOptions) {
    this.#options = options;
    this.#memo = new PrefixMemo(options.memoBytes);
  }

  /**
   * Rewrites a chat/completions body. The originals of all that was cut are durable when it resolves.
   *
   * @throws JsonShapeError when the body is not understood, StoreUnavailable when nothing can be kept; the caller
   * then sends the body as it came
   */
  async rewrite(body: Buffer): Promise<Rewritten> {
    const { store, clock, decisions } = this.#options;
    const epoch = store.epoch();
    const now = clock.nowMs();
    const match = this.#memo.find(
      body,
      (known) => known.epoch === epoch && now >= known.storedAtMs && now - known.storedAtMs < decisions.trustMs,
    );
    const read = this.#read(body, match);
    if (this.#options.leftAlone.covers(body, read.scanned.messages)) {
      return { ...this.#splice(body, untouched(read), () => null).rewritten, leftAlone: true };
    }
    await this.#keepAlive(body, match?.checkpoint.at ?? 0);
    const deadline = decisions.deadline();
    const { decisionOf, fallbacks } = await this.#decide(read.found, read.outcomesBefore, deadline);
    const result = this.#splice(body, read, decisionOf);
    this.#remember(body, read, result, match, { epoch, storedAtMs: match?.body.storedAtMs ?? now });
    return { ...result.rewritten, fallbacks };
  }

  /** What would be cut, without a store and without changing anything. */
  async rewriteDry(body: Buffer): Promise<Rewritten> {
    const read = this.#read(body, null);
    const jobs = read.found.filter(({ skip }) => skip === '').map(({ job }) => job);
    const decided = new Map((await this.#options.decisions.decideDry(jobs)).map((decision, i) => [jobs[i], decision]));
    return this.#splice(body, read, ({ job }) => decided.get(job) ?? null).rewritten;
  }

  #read(body: Buffer, match: PrefixMatch | null): ReadBody {
    const checkpoint = match?.checkpoint;
    const resume =
      match && checkpoint
        ? {
            at: checkpoint.at,
            model: match.body.model,
            stream: match.body.stream,
            messages: match.body.messages.slice(0, checkpoint.messages),
          }
        : undefined;
    const scanned = scanChatBody(body, resume);
    const conversation = checkpoint?.conversation.fork() ?? new Conversation();
    const first = checkpoint?.messages ?? 0;
    const found: FoundText[] = [];
    const marks: { readonly message: number; readonly found: number; readonly conversation: Conversation }[] = [];
    for (let i = first; i < scanned.messages.length; i++) {
      const message = scanned.messages[i];
      if (!message) continue;
      found.push(...findTexts(body, message, i, conversation, this.#options.find));
      if (i >= scanned.messages.length - CHECKPOINTS) {
        marks.push({ message: i, found: found.length, conversation: conversation.fork() });
      }
    }
    return {
      scanned,
      conversationId: conversation.id,
      found,
      marks,
      editsBefore: match?.body.edits.slice(0, checkpoint?.edits) ?? [],
      outcomesBefore: match?.body.outcomes.slice(0, checkpoint?.outcomes) ?? [],
    };
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

  /**
   * Decides about all texts; those that carry markers of ours, or that we served ourselves, stay whole, unless they
   * were pruned before that was so.
   */
  async #decide(found: readonly FoundText[], before: readonly TextOutcome[], deadline: number): Promise<Settled> {
    const results = new Map<FoundText, Decision>();
    const fallbacks: string[] = [];
    const settled = { decisionOf: (text: FoundText) => results.get(text) ?? null, fallbacks };
    const open = found.filter(({ skip }) => skip === '');
    if (open.length === 0) return settled;
    const { store } = this.#options;
    const served = await store.wasServed(open.map(({ job }) => job.textHash));
    const plain = open.filter(({ markerIds }) => markerIds.length === 0);
    const settle = async (texts: readonly FoundText[], whole: (text: FoundText) => string | false): Promise<void> => {
      fallbacks.push(...(await this.#settle(texts, results, whole, deadline)));
    };
    await settle(plain, ({ job }) => served.has(job.textHash) && 'recovered');
    const marked = open.filter(({ markerIds }) => markerIds.length > 0);
    if (marked.length > 0) {
      const known = await store.knownPruneIds([...new Set(marked.flatMap(({ markerIds }) => markerIds))]);
      for (const { pruneId } of [...before, ...results.values()]) if (pruneId) known.add(pruneId);
      const ours = ({ markerIds }: FoundText): boolean => markerIds.some((id) => known.has(id));
      await settle(
        marked,
        (text) => (ours(text) && 'carries_markers') || (served.has(text.job.textHash) && 'recovered'),
      );
    }
    return settled;
  }

  async #settle(
    texts: readonly FoundText[],
    results: Map<FoundText, Decision>,
    whole: (text: FoundText) => string | false,
    deadline: number,
  ): Promise<readonly string[]> {
    const reasons = texts.map((text) => (text.job.keepWhole === undefined ? whole(text) : false));
    const doubtful = texts.flatMap(({ job }, i) => (reasons[i] ? job : []));
    const decided = doubtful.length > 0 ? await this.#options.decisions.decided(doubtful) : new Set();
    const jobs = texts.map(({ job }, i): Job => {
      const keepWhole = reasons[i];
      return keepWhole && !decided.has(job) ? { ...job, keepWhole } : job;
    });
    const { decisions, fallbacks } = await this.#options.decisions.decideAll(jobs, deadline);
    texts.forEach((text, i) => {
      const decision = decisions[i];
      if (decision) results.set(text, decision);
    });
    return fallbacks;
  }

  #splice(body: Buffer, read: ReadBody, decisionOf: (text: FoundText) => Decision | null): Spliced {
    const edits: BodyEdit[] = [...read.editsBefore];
    const outcomes: TextOutcome[] = [...read.outcomesBefore];
    /** How many edits and outcomes there are once the first `n` found texts are done. */
    const counts: { edits: number; outcomes: number }[] = [{ edits: edits.length, outcomes: outcomes.length }];
    let lifted: Edit[] = [];
    read.found.forEach((text, i) => {
      const decision = decisionOf(text);
      const cut = decision && decision.cuts.length > 0 ? this.#cutBy(text.job.text, decision) : null;
      outcomes.push(outcomeOf(text, decision, cut));
      if (cut) lifted.push(...text.lift(cut.edits));
      if (read.found[i + 1]?.literal !== text.literal) {
        if (lifted.length > 0) edits.push(editLiteral(body, text, lifted));
        lifted = [];
      }
      counts.push({ edits: edits.length, outcomes: outcomes.length });
    });
    const { model, stream, messages } = read.scanned;
    return {
      edits,
      outcomes,
      counts,
      rewritten: {
        body: edits.length > 0 ? applyToBody(body, edits) : body,
        model,
        stream,
        messages,
        conversationId: read.conversationId,
        leftAlone: false,
        outcomes,
        newFrom: read.outcomesBefore.length,
        fallbacks: [],
      },
    };
  }

  /** What a decision does to its text; `null` when line numbers on the kept lines cost more than the cuts save. */
  #cutBy(text: string, { cuts, pruneId, tokensBefore, tokensAfter }: Decision): TextCut | null {
    const { render } = this.#options;
    const edits = editsOf(splitLines(text), annotate(cuts, pruneId ?? ''), render);
    if (render.includeMarkers && !render.annotateLines) return { edits, tokensAfter };
    let tokens = tokensBefore;
    for (const edit of edits) tokens += estimateTokens(edit.text) - estimateTokens(text, edit.start, edit.end);
    return tokens < tokensBefore ? { edits, tokensAfter: tokens } : null;
  }

  #remember(
    body: Buffer,
    read: ReadBody,
    { edits, outcomes, counts }: Spliced,
    match: PrefixMatch | null,
    durable: { readonly epoch: string; readonly storedAtMs: number },
  ): void {
    const { model, stream, messages } = read.scanned;
    const checkpoints: Checkpoint[] = read.marks.map(({ message, found, conversation }) => ({
      at: messages[message]?.span.end ?? 0,
      messages: message + 1,
      edits: counts[found]?.edits ?? 0,
      outcomes: counts[found]?.outcomes ?? 0,
      conversation,
    }));
    const last = checkpoints.at(-1);
    if (!last || (outcomes.length === 0 && body.length < MIN_REMEMBERED_BYTES)) return;
    const known = match
      ? match.body.checkpoints.filter(({ messages: count }) => count <= match.checkpoint.messages)
      : [];
    const remembered: RememberedBody = {
      prefix: body.subarray(0, last.at),
      model,
      stream,
      messages,
      edits,
      outcomes,
      checkpoints: [...known, ...checkpoints].slice(-CHECKPOINTS),
      ...durable,
    };
    this.#memo.add(remembered, match?.body ?? null);
  }
}

/** What became of the texts of one request. */
interface Settled {
  readonly decisionOf: (text: FoundText) => Decision | null;
  readonly fallbacks: readonly string[];
}

interface ReadBody {
  readonly scanned: ScannedBody;
  readonly conversationId: string;
  readonly found: readonly FoundText[];
  readonly marks: readonly { readonly message: number; readonly found: number; readonly conversation: Conversation }[];
  readonly editsBefore: readonly BodyEdit[];
  readonly outcomesBefore: readonly TextOutcome[];
}

/** The same body with nothing to do in it. */
function untouched(read: ReadBody): ReadBody {
  return { ...read, found: [], editsBefore: [], outcomesBefore: [] };
}

/** Edits of a text, and its tokens once they are made. */
interface TextCut {
  readonly edits: readonly Edit[];
  readonly tokensAfter: number;
}

interface Spliced {
  readonly rewritten: Rewritten;
  readonly edits: readonly BodyEdit[];
  readonly outcomes: readonly TextOutcome[];
  readonly counts: readonly { readonly edits: number; readonly outcomes: number }[];
}

function outcomeOf(
  { messageIndex, job, skip }: FoundText,
  decision: Decision | null,
  cut: TextCut | null,
): TextOutcome {
  const lines = decision?.lines ?? 0;
  const tokensBefore = decision?.tokensBefore ?? 0;
  return {
    messageIndex,
    tool: job.tool,
    kind: decision?.kind ?? '',
    pruneId: decision && cut ? decision.pruneId : null,
    whole: cut ? '' : decision ? decision.whole || 'too_little_saved' : skip || 'refused',
    lines,
    keptLines: decision && cut ? decision.keptLines : lines,
    tokensBefore,
    tokensAfter: cut ? cut.tokensAfter : tokensBefore,
  };
}

/** Rewrites one JSON string of the body; every escape outside the cuts stays as the client wrote it. */
function editLiteral(body: Buffer, { literal }: FoundText, edits: readonly Edit[]): BodyEdit {
  const raw = body.toString('utf8', literal.start + 1, literal.end - 1);
  const pruned = applyEdits(raw, encodeEdits(raw, edits, 0));
  return { start: literal.start + 1, end: literal.end - 1, bytes: Buffer.from(pruned) };
}

function applyToBody(body: Buffer, edits: readonly BodyEdit[]): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, bytes } of edits) {
    pieces.push(body.subarray(at, start), bytes);
    at = end;
  }
  pieces.push(body.subarray(at));
  return Buffer.concat(pieces);
}
