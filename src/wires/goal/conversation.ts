import type { RecoveredLines } from '../transcript/shell-recovery.ts';
import type { ToolCall } from '../transcript/tools.ts';
import {
  type CallInContext,
  type KeptConversation,
  MAX_ANSWER_CHARS,
  MAX_KEPT_ARGS,
  MAX_KEPT_CALLS,
  MAX_KEPT_SHOWN,
} from './kept-conversation.ts';
import { MAX_NAMING_CHARS, namesFile } from './named-files.ts';
import { SharedLog } from './shared-log.ts';
import { type FileEdit, ShownLines } from './shown-lines.ts';

/** Maximum length of a goal, in characters. */
const MAX_GOAL_CHARS = 3_000;
const MAX_SAID_CHARS = 1_000;
const MAX_CALLS = 5_000;
/** Maximum number of remembered results per call. */
const MAX_REPEATS = 50;
/** Shorter user messages ("go on", "yes") are combined with the preceding ones, in characters. */
const SHORT_WORDS = 40;
/** Maximum number of shell recoveries whose lines are recognised later. */
const MAX_RECOVERED = 64;

/** See `Conversation.warnsSince`. */
const IN_STORED_ANSWER = -1;

/** Position of a text in the body, which is the same in all later bodies of the conversation. */
export interface Place {
  readonly start: number;
  readonly end: number;
}

interface Result {
  readonly at: Place;
  /** Computed when the call repeats; identical for all copies of the conversation. */
  fingerprint: string | null;
}

/**
 * The state of a conversation after messages `0…i`. It depends on nothing else, so everything derived from it is the
 * same in every later request.
 */
export class Conversation {
  #userWords = '';
  /**
   * The user's newest words (a longer excerpt than `#userWords`) and the model's newest plan. Files mentioned here are
   * kept.
   */
  #namingWords = '';
  #plan = '';
  #id = '';
  #recovers = false;
  #detached = false;
  #recovered: readonly RecoveredLines[] = [];
  #spoken = '';
  /** Latest text of the current answer; some wires send the text and each call as separate items. */
  #answerWords = '';
  #calls: SharedLog<CallInContext>;
  #results: SharedLog<Result>;
  /** Paths of files shown by results, by file name. */
  readonly #shown: SharedLog<string>;
  /** Files first shown since the model's last text, with the key of the call that showed them. */
  #shownSince: ReadonlyMap<string, string> = new Map();
  /** Lines of results, so that later ones are recognised as repeats. */
  #lines = new ShownLines();
  #edits = new SharedLog<FileEdit>();
  /** Number of answers so far; several items, one after the other, are one answer. */
  #answers = 0;
  #isAnswering = false;
  #warnsSince: number | undefined;

  constructor(
    calls = new SharedLog<CallInContext>(),
    results = new SharedLog<Result>(),
    shown = new SharedLog<string>(),
  ) {
    this.#calls = calls;
    this.#results = results;
    this.#shown = shown;
  }

  /** An independent copy; the common part is shared. */
  fork(): Conversation {
    const fork = new Conversation(this.#calls.fork(), this.#results.fork(), this.#shown.fork());
    fork.#userWords = this.#userWords;
    fork.#namingWords = this.#namingWords;
    fork.#plan = this.#plan;
    fork.#id = this.#id;
    fork.#recovers = this.#recovers;
    fork.#detached = this.#detached;
    fork.#recovered = this.#recovered;
    fork.#spoken = this.#spoken;
    fork.#answerWords = this.#answerWords;
    fork.#shownSince = this.#shownSince;
    fork.#lines = this.#lines.fork();
    fork.#edits = this.#edits.fork();
    fork.#answers = this.#answers;
    fork.#isAnswering = this.#isAnswering;
    fork.#warnsSince = this.#warnsSince;
    return fork;
  }

  /**
   * Approximate size of the state: number of recorded calls, results and shown files, plus one per 32 characters of
   * text.
   */
  get size(): number {
    const chars = this.#spoken.length + this.#namingWords.length + this.#plan.length;
    return this.#calls.size + this.#results.size + this.#shown.size + this.#lines.weight + (chars >> 5);
  }

  /** Serialises the newest calls and words, for requests that continue from here without repeating them. */
  toText(): string {
    const kept = this.kept();
    const calls = kept.#calls.entries();
    const shown = kept.#shown.entries().map(([, path]) => path);
    return JSON.stringify({
      id: this.#id,
      asked: this.#userWords,
      recovers: this.#recovers,
      ...(this.#detached && { detached: true }),
      calls,
      spoken: this.#spoken || undefined,
      shown: shown.length > 0 ? shown : undefined,
      recovered: this.#recovered.length > 0 ? this.#recovered : undefined,
      warns: this.#warnsSince !== undefined || undefined,
      naming: this.#namingWords !== this.#userWords || this.#plan !== '' ? [this.#namingWords, this.#plan] : undefined,
    } satisfies KeptConversation);
  }

  /** Equivalent to `fromText(toText())`, but shares data with this one. */
  kept(): Conversation {
    const kept = this.fork();
    kept.#results = new SharedLog();
    if (kept.#warnsSince !== undefined) kept.#warnsSince = IN_STORED_ANSWER;
    kept.#lines = new ShownLines();
    kept.#edits = new SharedLog();
    kept.#shown.keepNewest(MAX_KEPT_SHOWN);
    kept.#calls.keepNewest(MAX_KEPT_CALLS);
    const calls = kept.#calls.entries();
    if (calls.every(([, { args }]) => args.length <= MAX_KEPT_ARGS)) return kept;
    kept.#calls = new SharedLog();
    for (const [id, call] of calls)
      kept.#calls.add(id, call.args.length > MAX_KEPT_ARGS ? { ...call, args: '' } : call);
    return kept;
  }

  /** Inverse of `toText`. Reads as much as possible of other texts. */
  static fromText(text: string): Conversation {
    const conversation = new Conversation();
    try {
      const kept = JSON.parse(text) as KeptConversation;
      const {
        id,
        asked,
        calls,
        recovers = false,
        detached = false,
        spoken = '',
        shown = [],
        naming = [asked, ''],
        recovered = [],
        warns = false,
      } = kept;
      for (const path of shown) conversation.#shown.add(nameOf(path), path);
      for (const [callId, call] of calls) conversation.#calls.add(callId, call);
      conversation.#id = id;
      conversation.#userWords = asked;
      [conversation.#namingWords, conversation.#plan] = naming;
      conversation.#recovers = recovers;
      conversation.#detached = detached;
      conversation.#recovered = recovered;
      if (warns) conversation.#warnsSince = IN_STORED_ANSWER;
      conversation.#spoken = spoken;
    } catch {
      // written by another version, or damaged: keep what was read before the error
    }
    return conversation;
  }

  /** A hash of the conversation's beginning; `''` before the user's first message. */
  get id(): string {
    return this.#id;
  }

  /** Sets the hash of the conversation's beginning. Only the first call counts. */
  begin(id: string): void {
    this.#id ||= id;
  }

  /** Records that the conversation continues an unknown answer. */
  detach(): void {
    this.#detached = true;
  }

  /** Whether the history, and thus the beginning, is unknown. */
  get isDetached(): boolean {
    return this.#detached;
  }

  offerRecovery(): void {
    this.#recovers = true;
  }

  /** Whether the conversation so far shows that the model can call `recover_text`. */
  get recovers(): boolean {
    return this.#recovers;
  }

  /** Records lines recovered by a shell command. */
  gaveOut(lines: readonly RecoveredLines[]): void {
    if (lines.length > 0) this.#recovered = [...this.#recovered, ...lines].slice(-MAX_RECOVERED);
  }

  /** Lines recovered by shell commands so far, newest last. The returned list is never modified. */
  get recovered(): readonly RecoveredLines[] {
    return this.#recovered;
  }

  /**
   * Records that the model wrote a marker into a file.
   *
   * @param at - index of its message
   */
  wroteMarker(at = IN_STORED_ANSWER): void {
    this.#warnsSince = at;
  }

  warned(): void {
    this.#warnsSince = undefined;
  }

  /**
   * Index of the newest message that wrote a marker into a file, `IN_STORED_ANSWER` if the message is in no body. A later
   * result of the same body may carry the warning already.
   */
  get warnsSince(): number | undefined {
    return this.#warnsSince;
  }

  /** Adds the user's own words, without files and injected reminders. */
  userSaid(words: string): void {
    const trimmed = words.trim();
    if (trimmed === '') return;
    const needsMore = trimmed.length < SHORT_WORDS && this.#userWords !== '';
    this.#userWords = (needsMore ? `${trimmed}\n${this.#userWords}` : trimmed).slice(0, MAX_GOAL_CHARS);
    this.#namingWords = (needsMore ? `${trimmed}\n${this.#namingWords}` : trimmed).slice(0, MAX_NAMING_CHARS);
  }

  planned(plan: string): void {
    this.#plan = plan.slice(0, MAX_NAMING_CHARS);
  }

  /** Whether the user's newest words or the model's newest plan mention one of these files. */
  names(paths: readonly string[]): boolean {
    return paths.some((path) => namesFile(this.#namingWords, path) || namesFile(this.#plan, path));
  }

  /** The model's last text if it made no native tool call; otherwise `''`. */
  get spoken(): string {
    return this.#spoken;
  }

  /** Records that a user message answers the model's text. */
  userAnswered(): void {
    this.#spoken = '';
    this.#answerWords = '';
    this.#isAnswering = false;
  }

  /** Records a tool answer, which ends the model's answer. */
  toolAnswered(): void {
    this.#answerWords = '';
    this.#isAnswering = false;
  }

  /** Adds a model message, or one item of its answer. Each call is stored with the preceding text of the answer. */
  assistantSaid(text: string, calls: readonly { readonly id: string; readonly call: ToolCall }[]): void {
    if (!this.#isAnswering) this.#answers++;
    this.#isAnswering = true;
    this.#spoken = calls.length === 0 ? text.slice(-MAX_ANSWER_CHARS) : '';
    if (this.#shownSince.size > 0) this.#shownSince = new Map();
    const said = text.trim().slice(-MAX_SAID_CHARS) || this.#answerWords;
    this.#answerWords = said;
    for (const { id, call } of calls) {
      // Legacy function results refer to their function instead of an id.
      this.#calls.add(id || call.name, { name: call.name, args: call.args, said, asked: this.#userWords });
      this.#calls.keepNewest(MAX_CALLS);
    }
  }

  /** A call that the model wrote as text, with the model's and the user's words at that time. */
  textCall({ name, args }: ToolCall): CallInContext {
    return { name, args, said: this.#spoken.trim().slice(-MAX_SAID_CHARS), asked: this.#userWords };
  }

  /** The call that a result answers, by id or (legacy) by function name. */
  callOf(toolCallId: string, name: string): CallInContext | undefined {
    const byId = toolCallId === '' ? undefined : this.#calls.newest(toolCallId);
    return byId ?? this.#calls.newest(name);
  }

  /** The id of the newest call; `''` before the first one. */
  get newestCall(): string {
    return this.#calls.lastKey;
  }

  /** Number of calls with an id so far; some models restart numbering with each answer. */
  callsUnder(id: string): number {
    return this.#calls.count(id);
  }

  /**
   * Records a result of a call. Returns whether the same call returned the same text before, apart from volatile
   * values.
   *
   * @param callKey - hash of the call's name and arguments
   * @param at - position of the text in the body
   * @param fingerprintAt - computes a fingerprint; called only for repeated calls
   */
  isReread(callKey: string, at: Place, fingerprintAt: (at: Place) => string): boolean {
    const earlier = this.#results.newestOf(callKey, MAX_REPEATS);
    const result: Result = { at, fingerprint: null };
    const same = earlier.some((other) => {
      other.fingerprint ??= fingerprintAt(other.at);
      result.fingerprint ??= fingerprintAt(at);
      return other.fingerprint === result.fingerprint;
    });
    if (this.#results.size < MAX_CALLS) this.#results.add(callKey, result);
    return same;
  }

  /**
   * Records the files that a result shows, and returns whether one of them was shown before, in any range and by any
   * call, since a repeated look shows interest. An equal call in the same turn does not count, because the model has
   * not seen the first result yet.
   */
  isShownAgain(paths: readonly string[], callKey: string): boolean {
    const isLook = (path: string): boolean => this.#shownSince.get(path) !== callKey;
    const again = paths.some((path) =>
      this.#shown.all(nameOf(path)).some((before) => isSameFile(before, path) && isLook(before)),
    );
    for (const path of paths) {
      const earlier = this.#shown.all(nameOf(path));
      if (earlier.includes(path) || earlier.length >= MAX_REPEATS) continue;
      this.#shown.add(nameOf(path), path);
      this.#shownSince = new Map([...this.#shownSince, [path, callKey]]);
    }
    this.#shown.keepNewest(MAX_CALLS);
    return again;
  }

  get lines(): ShownLines {
    return this.#lines;
  }

  get answers(): number {
    return this.#answers;
  }

  edited(edit: FileEdit): void {
    for (const path of edit.paths) this.#edits.add(nameOf(path), edit);
    this.#edits.keepNewest(MAX_CALLS);
  }

  /** Edits of some files, the oldest first. */
  editsOf(paths: readonly string[]): readonly FileEdit[] {
    const edits = paths.flatMap((path) =>
      this.#edits.all(nameOf(path)).filter((edit) => edit.paths.some((one) => isSameFile(one, path))),
    );
    return [...new Set(edits)];
  }

  /**
   * The goal of a result: an explicit question if there is one, otherwise the call's arguments, the assistant's text
   * with the call, and the user's newest words before it.
   */
  goalFor(call: CallInContext | undefined, question: string, argsSaid: string): string {
    if (question.trim() !== '') return question.trim().slice(0, MAX_GOAL_CHARS);
    const parts = [argsSaid, call?.said ?? '', call?.asked || this.#userWords];
    return parts
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .join('\n')
      .slice(0, MAX_GOAL_CHARS);
  }

  /** The user's newest words: the goal of files in the same message. */
  get userWords(): string {
    return this.#userWords;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/**
 * Whether two paths refer to the same file: equal, or one relative to a parent folder. A bare name is ambiguous and
 * only matches itself.
 */
export function isSameFile(a: string, b: string): boolean {
  const [long, short] = a.length < b.length ? [fromHere(b), fromHere(a)] : [fromHere(a), fromHere(b)];
  return long === short || (short.includes('/') && long.endsWith(`/${short}`));
}

function fromHere(path: string): string {
  return path.startsWith('./') ? path.slice(2) : path;
}
