import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import { contentIdOf } from 'mcp-pruner/base/conversation-ids.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { BudgetGate } from 'mcp-pruner/core/ports/budgets.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { PassingRequest, SeamExchange, SeamRequest, SeamSeat, Swapped } from 'mcp-pruner/core/ports/seams.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { hasUserWords } from 'mcp-pruner/core/request/user-signs.ts';
import { storeReason } from 'mcp-pruner/errors/errors.ts';
import type { ProviderUsage, ScannedMessage } from 'mcp-pruner/wires/dialects/dialect.ts';
import { type ByteEdit, textBehind, withEdits } from 'mcp-pruner/wires/json/edit.ts';
import type { Background } from './background.ts';
import { type Compaction, type CompactionBook, KNOWN_MS, keyOf, LOST_MS, lostOf, type OtherRow } from './book.ts';
import { messagesWire } from './messages-wire.ts';
import { ReadsAgain, type Replaced } from './reads-again.ts';
import { responsesWire } from './responses-wire.ts';
import { seamAt } from './seam.ts';
import { type Answering, BlockAnswers, isSame, MAX_SWITCHES } from './switches.ts';
import { hostOf, type SeamWire } from './wire.ts';

interface SeatOptions {
  readonly settings: Settings;
  /** The setting of a project: `undefined` if it has none of its own. */
  readonly settingOf: (project: string) => Settings['seams'] | undefined;
  readonly book: CompactionBook;
  readonly background: Background;
  readonly ledger: LedgerStore;
  readonly clock: Clock;
  readonly budgets: () => BudgetGate | null;
  /** Called for an unknown value of the header. */
  readonly onUnknownHeader: (value: string) => void;
  /** Called when a block was given up because the provider refused it. */
  readonly onRefused: (shown: string) => void;
  readonly onFailure: FailureReporter;
}

const HEADER = 'x-mcp-pruner-seams';
const WIRES: ReadonlyMap<string, SeamWire> = new Map([
  ['messages', messagesWire],
  ['responses', responsesWire],
]);
const MAX_CONVERSATIONS = 5_000;
/** Without requests for this long, a process stops looking for compactions of others: an idle one runs no statements. */
const PAUSE_MS = 60_000;

/** A last answered request of a conversation in this process. */
interface Answered {
  readonly tokens: number;
  readonly firstTokens: number;
}

/** Replaces summarised messages in requests, and has finished work summarised at seams. */
export class Seat implements SeamSeat {
  readonly #options: SeatOptions;
  /** Whether the store may have compactions. */
  #mayHave = true;
  /** When it was looked for them the last time, as `performance.now()`. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  #isLooking = false;
  readonly #answered = new BoundedMap<string, Answered>(MAX_CONVERSATIONS);
  /** Conversations that were read from the store and have no summary. */
  readonly #free = new BoundedMap<string, true>(MAX_CONVERSATIONS);
  /** Conversations for which a summary is being considered or made, with the number of such seams. */
  readonly #considered = new Map<string, number>();
  /** The user's newest words, by conversation, and until when another process may be asking for a summary because of them. */
  readonly #words = new BoundedMap<string, { readonly prefix: string; readonly untilMs: number }>(MAX_CONVERSATIONS);
  /** Newest messages that were sent without the line of a block, because it could not be stored. They stay without it. */
  readonly #unlined = new BoundedMap<string, string>(MAX_CONVERSATIONS);
  /** Hash of the messages that a conversation last sent without a block. */
  readonly #without = new BoundedMap<string, string>(MAX_CONVERSATIONS);
  /** When a request went out although its compactions could not be read. */
  readonly #missed = new BoundedMap<string, number>(MAX_CONVERSATIONS);
  /** When a request was answered that went out like that. What the model thought then is not bound to a compaction. */
  readonly #answeredWhole = new BoundedMap<string, number>(MAX_CONVERSATIONS);
  /** Blocks that the provider had accepted, and with which it refused the last request. */
  readonly #refusedLast = new BoundedMap<string, true>(MAX_CONVERSATIONS);
  /** When the compactions of a conversation were read the last time. */
  #readMs = Number.NEGATIVE_INFINITY;
  /** Until when the provider accepts no further requests of a key; infinite: until its next success. */
  readonly #blocked = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  /** When a request last asked whether it is concerned. */
  #concernedAt = Number.NEGATIVE_INFINITY;

  readonly #readsAgain = new ReadsAgain();
  readonly #again = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(options: SeatOptions) {
    this.#options = options;
  }

  nowMs(): number {
    return Math.trunc(this.#options.clock.nowMs());
  }

  concerns(project: string, wire: string, isAsked: boolean): boolean {
    if (!WIRES.has(wire)) return false;
    const now = performance.now();
    this.#concernedAt = now;
    if (this.#mayHave || isAsked || this.#settingOf(project, undefined) === 'on') return true;
    // a summary is used only after every process had time to notice it
    return now - this.#checkedAt >= KNOWN_MS;
  }

  passes(project: string, { dialect, body, match }: PassingRequest): boolean {
    const wire = WIRES.get(dialect.name);
    if (wire === undefined) return true;
    if (match === null) return false;
    const { shownId, tail } = match.body;
    if (!this.#free.has(`${project}\n${contentIdOf(shownId)}`)) return false;
    return wire.bringsOnlyResults(body.subarray(match.checkpoint.at, body.length - tail.length));
  }

  /**
   * Records what the store has of a conversation, and whether another process may be asking for a summary of it: that is
   * always the process that served the user's newest words.
   */
  note({ project, rewritten }: SeamRequest, known: readonly Compaction[]): void {
    const nowMs = this.nowMs();
    this.#readMs = nowMs;
    const { conversationId, shownId, messages, prefixes } = rewritten;
    const [key, shown] = [`${project}\n${conversationId}`, `${project}\n${shownId}`];
    const at = messages.findLastIndex((message) => message.role === 'user' && hasUserWords(message));
    const prefix = prefixes[at] ?? '';
    if (this.#words.get(shown)?.prefix !== prefix) {
      const isServedHere = at > messages.findLastIndex(({ role }) => role === 'assistant');
      this.#words.set(shown, { prefix, untilMs: isServedHere ? 0 : nowMs + LOST_MS });
    }
    const isWaited = (this.#words.get(shown)?.untilMs ?? 0) > nowMs;
    const has = known.some(({ state, askedMs }) => HELD.has(state) || (state === 'asked' && nowMs - askedMs < LOST_MS));
    if (has || isWaited || this.#considered.has(key)) this.#free.delete(key);
    else this.#free.set(key, true);
  }

  /** Looks while requests come. After a pause, the first request queries the store itself. */
  lookOn(): void {
    if (performance.now() - this.#concernedAt < PAUSE_MS) void this.look();
  }

  /** Looks whether the store has compactions, of whichever process, unless it was found to have some. Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking || (this.#mayHave && this.#checkedAt >= 0)) return;
    this.#isLooking = true;
    const atMs = performance.now();
    try {
      this.#mayHave = await this.#options.book.hasAny();
      this.#checkedAt = atMs;
    } catch (cause) {
      this.#options.onFailure('compactions_not_read', cause);
    } finally {
      this.#isLooking = false;
    }
  }

  #settingOf(project: string, header: string | undefined): Settings['seams'] {
    const setting = this.#options.settingOf(project) ?? this.#options.settings.seams;
    const asked = header?.trim().toLowerCase();
    if (asked === 'off') return 'off';
    return asked === 'on' && setting === 'measure' ? 'on' : setting;
  }

  async enter(request: SeamRequest): Promise<SeamExchange> {
    for (;;) {
      const exchange = new OneExchange(this, this.#options, request);
      try {
        await exchange.enter();
        return exchange;
      } catch (cause) {
        // sent whole, a conversation with a block would break; one that was sent whole in the same outage did
        const mayWait = storeReason(cause) !== null && isAnswered(request) && !this.#wentWhole(request);
        if (mayWait && (await request.wait(cause))) continue;
        this.#options.onFailure('compaction_not_used', cause, { requestId: request.requestId });
        exchange.leave();
        return exchange;
      }
    }
  }

  /** Whether a conversation was sent whole since the store could be read the last time. */
  #wentWhole({ project, rewritten }: SeamRequest): boolean {
    const missedMs = this.#missed.get(`${project}\n${rewritten.shownId}`);
    return missedMs !== undefined && missedMs >= this.#readMs;
  }

  /** The setting for one request. */
  settingFor({ project, rawHeaders }: SeamRequest): Settings['seams'] {
    const at = rawHeaders.findLastIndex((name, i) => i % 2 === 0 && name.toLowerCase() === HEADER);
    const header = at < 0 ? undefined : rawHeaders[at + 1];
    const asked = header?.trim().toLowerCase();
    if (asked !== undefined && asked !== 'on' && asked !== 'off') this.#options.onUnknownHeader(asked.slice(0, 40));
    return this.#settingOf(project, header);
  }

  miss(key: string): void {
    this.#missed.set(key, this.nowMs());
  }

  missedSince(key: string, readyMs: number): boolean {
    return (this.#missed.get(key) ?? -1) >= readyMs;
  }

  /** @returns whether the provider refused the request before it too */
  refuse(block: string): boolean {
    const wasRefused = this.#refusedLast.has(block);
    this.#refusedLast.set(block, true);
    return wasRefused;
  }

  accept(block: string): void {
    this.#refusedLast.delete(block);
  }

  answerWhole(key: string): void {
    this.#answeredWhole.set(key, this.nowMs());
  }

  wasAnsweredWhole(key: string, sinceMs: number): boolean {
    return (this.#answeredWhole.get(key) ?? -1) >= sinceMs;
  }

  /** Messages that are sent without the line of a compaction. */
  goWithoutLine(compaction: string, prefix: string): void {
    this.#unlined.set(compaction, prefix);
  }

  wentWithoutLine(compaction: string, prefix: string): boolean {
    return this.#unlined.get(compaction) === prefix;
  }

  /** The newest messages of a conversation that were sent without a block: its line is never put into them. */
  goWithoutBlock(key: string, prefix: string): void {
    this.#without.set(key, prefix);
  }

  wentWithoutBlock(key: string, prefix: string): boolean {
    return this.#without.get(key) === prefix;
  }

  lastAnswered(key: string): Answered | undefined {
    return this.#answered.get(key);
  }

  answered(project: string, conversation: string, usage: ProviderUsage | null): void {
    const tokens = usage?.promptTokens ?? 0;
    if (tokens <= 0 || conversation === '') return;
    const key = `${project}\n${conversation}`;
    const { firstTokens = tokens } = this.#answered.get(key) ?? {};
    this.#answered.set(key, { tokens, firstTokens });
  }

  block(caller: string, retryAfter: string): void {
    this.#blocked.set(caller, timeIn(retryAfter, this.nowMs()));
  }

  isBlocked(caller: string): boolean {
    return (this.#blocked.get(caller) ?? 0) > this.nowMs();
  }

  /** Without `Retry-After`, the next success ends a refusal. */
  succeeded(caller: string): void {
    const untilMs = this.#blocked.get(caller);
    if (untilMs === Number.POSITIVE_INFINITY || !this.isBlocked(caller)) this.#blocked.delete(caller);
  }

  /** @returns tokens of replaced files that were read again, if more than before; else 0 */
  readAgain(of: Replaced): number {
    const tokens = this.#readsAgain.tokens(of);
    if (tokens <= (this.#again.get(of.key) ?? 0)) return 0;
    this.#again.set(of.key, tokens);
    return tokens;
  }

  /** The store is about to have something of a conversation. */
  has({ project, rewritten }: SeamRequest): void {
    this.#mayHave = true;
    this.#free.delete(`${project}\n${rewritten.conversationId}`);
  }

  /** A summary of a conversation is considered, until the promise resolves. */
  considering(request: SeamRequest, work: Promise<void>): void {
    this.has(request);
    const key = `${request.project}\n${request.rewritten.conversationId}`;
    this.#considered.set(key, (this.#considered.get(key) ?? 0) + 1);
    void work.then(() => {
      const left = (this.#considered.get(key) ?? 1) - 1;
      if (left > 0) this.#considered.set(key, left);
      else this.#considered.delete(key);
    });
  }
}

/** One request. */
class OneExchange implements SeamExchange {
  readonly #seat: Seat;
  readonly #options: SeatOptions;
  readonly #request: SeamRequest;
  readonly #key: string;
  swapped: Swapped | null = null;
  isUnknown = false;
  /** The compaction in use. */
  #used: Compaction | null = null;
  #wasRefused = false;
  /** Compactions of the conversation; `null` if unknown. */
  #known: readonly Compaction[] | null = null;
  /** Summaries that were sent before the one in use, newest first. Thinking made with them is bound to them. */
  #older: readonly Compaction[] = [];
  /** The edits that add the lines about what is gone, in the order of the messages. */
  #lines: readonly ByteEdit[] = [];

  constructor(seat: Seat, options: SeatOptions, request: SeamRequest) {
    this.#seat = seat;
    this.#options = options;
    this.#request = request;
    this.#key = `${request.project}\n${request.rewritten.shownId}`;
  }

  get #wire(): SeamWire | undefined {
    return WIRES.get(this.#request.dialect.name);
  }

  /** @throws StoreUnavailable, JsonShapeError */
  async enter(): Promise<void> {
    const { project, rewritten } = this.#request;
    if (this.#wire === undefined || rewritten.conversationId === '') return;
    const { book } = this.#options;
    this.#known = await book.ofConversation(project, rewritten.conversationId);
    const { conversationId, messages } = rewritten;
    const erased = this.#known.length === 0 ? book.takeErased(project, conversationId, messages.length) : undefined;
    if (erased !== undefined) this.#known = [await this.#goOnWithout(erased.usedMessages)];
    this.#seat.note(this.#request, this.#known);
    if (this.#request.isSocket === true)
      for (const one of this.#known) if (one.state === 'asked' && this.#standsIn(one)) await this.#discard(one.id);
    const found = await this.#usable(this.#known);
    if (found !== null && !this.#isThread) await this.#noteSwitch(found);
    if (found !== null && this.#fits(found)) await this.#swap(this.#wire, found);
    else if (found !== null) await this.#unbind(this.#wire, found);
    if (this.#used === null && this.#request.purpose === 'generate')
      this.#seat.goWithoutBlock(this.#key, rewritten.prefixes.at(-1) ?? '');
  }

  /** Whether later requests bring no history, and could not name the block to the provider. */
  get #isThread(): boolean {
    const { dialect, rewritten } = this.#request;
    return dialect.keepsHistory === 'threads' && rewritten.isKept;
  }

  /** Whether a summary may be sent with this request, to this model and host. */
  #fits(one: Compaction): boolean {
    return one.state !== 'lost' && isSame(one, this.#answering) && !this.#isThread;
  }

  get #answering(): Answering {
    return { model: this.#request.rewritten.model, host: hostOf(this.#request.origin) };
  }

  /** Which answers were made with a compaction or an older one. */
  #answersWith(newest: Compaction): BlockAnswers {
    const sent = [newest, ...this.#older].filter(({ state }) => state !== 'lost');
    return new BlockAnswers(sent, this.#known ?? [], this.#request.rewritten.prefixes);
  }

  /**
   * Records where another model begins to answer, and where that of the block does again. While that cannot be stored,
   * what the other model thinks is left out too.
   */
  async #noteSwitch(found: Compaction): Promise<void> {
    const { rewritten, purpose } = this.#request;
    const messages = rewritten.messages.length;
    const isOurs = this.#fits(found);
    if (found.state === 'lost' || purpose !== 'generate' || this.#answersWith(found).isAt(messages) === isOurs) return;
    const switches = this.#known?.filter(({ state }) => state === 'switched').length ?? 0;
    if (!isOurs && switches >= MAX_SWITCHES) return;
    const at = { prefix: rewritten.prefixes[messages - 1] ?? '', messages };
    try {
      await this.#options.book.switched({ ...this.#named, ...at });
    } catch (cause) {
      this.#notNoted(cause);
    }
  }

  /** What the store needs to find a row of this conversation. */
  get #named(): Omit<OtherRow, 'prefix' | 'messages'> {
    const { project, keyId = '', dialect, rewritten } = this.#request;
    const names = { project, keyId, conversation: rewritten.conversationId, shown: rewritten.shownId };
    return { ...names, wire: dialect.name, ...this.#answering, askedMs: this.#seat.nowMs() };
  }

  /** The request goes out as it is, although a block may have been ready for it. */
  leave(): void {
    this.swapped = null;
    this.#used = null;
    this.#known = null;
    this.isUnknown = true;
    this.#seat.miss(this.#key);
  }

  /**
   * The newest block that stands for the first messages of this request, claimed for it. One of another model or host is
   * returned if it was sent before.
   */
  async #usable(known: readonly Compaction[]): Promise<Compaction | null> {
    const { rewritten, dialect, purpose, beganMs } = this.#request;
    const fitting = known
      .filter((one) => HELD.has(one.state) && one.wire === dialect.name && this.#standsIn(one))
      .toSorted((a, b) => b.messages - a.messages || b.id - a.id);
    for (const [i, one] of fitting.entries()) {
      this.#older = [];
      if (one.state === 'lost') return one; // and all that is older
      if (one.state !== 'ready' && this.#seat.wasAnsweredWhole(this.#key, one.usedMs))
        return this.#goOnWithout(this.#answered);
      this.#older = fitting.slice(i + 1).filter(({ state }) => state !== 'ready');
      if (one.state !== 'ready') return one;
      const isOther = !this.#fits(one);
      // what this request makes of the whole history would be bound to it
      const isLate = this.#seat.missedSince(this.#key, one.readyMs) || (isOther && beganMs >= one.readyMs);
      if (isLate) await this.#discard(one.id);
      if (isLate || isOther || purpose !== 'generate') continue;
      if (!(await this.#isClaimed(one.id))) continue;
      return { ...one, state: 'used', usedMessages: rewritten.messages.length };
    }
    return null;
  }

  /** Whether this request begins with the messages that a compaction stands for. */
  #standsIn({ messages, prefix }: Compaction): boolean {
    const { rewritten } = this.#request;
    return messages < rewritten.messages.length && rewritten.prefixes[messages - 1] === prefix;
  }

  /** Gives up a block that comes too late. While that cannot be stored, each request of this process does it again. */
  async #discard(id: number): Promise<void> {
    try {
      await this.#options.book.become(id, 'late', ['asked', 'ready']);
    } catch (cause) {
      this.#notNoted(cause);
      this.#seat.miss(this.#key);
    }
  }

  /** Nothing waits for a block that was never sent. */
  async #isClaimed(id: number): Promise<boolean> {
    const { rewritten } = this.#request;
    try {
      await this.#options.book.use(id, rewritten.messages.length, this.#seat.nowMs());
      return true;
    } catch (cause) {
      this.#notNoted(cause);
      this.#seat.miss(this.#key);
      return false;
    }
  }

  async #swap(wire: SeamWire, one: Compaction): Promise<void> {
    const { book } = this.#options;
    const { body, dialect, rewritten } = this.#request;
    const block = await book.blockOf(one);
    if (block === null) return;
    const { messages } = dialect.scan(body);
    const next = messages[one.messages];
    if (messages.length !== rewritten.messages.length || next === undefined)
      throw new Error('the messages are not those that were read');
    const kept = wire.kept(body, messages);
    const first = messages[Math.min(kept, one.messages)];
    if (first === undefined) return;
    const replacement: ByteEdit = {
      start: first.span.start,
      end: next.span.start,
      bytes: Buffer.from(`${wire.carrying(block)},`),
    };
    this.#lines = await this.#lineEdits(wire, one);
    const behind = this.#lines.filter(({ start }) => start >= next.span.start);
    this.swapped = { body: withEdits(body, [replacement, ...behind]), beta: wire.beta, replaced: one.messages - kept };
    this.#used = one;
  }

  /** Sends the whole history to another model or host, without what the model thought with the block before it. */
  async #unbind(wire: SeamWire, one: Compaction): Promise<void> {
    this.#lines = await this.#lineEdits(wire, one);
    const body = this.#whole(wire, one);
    if (body !== this.#request.body) this.swapped = asItIs(body);
  }

  /** The whole history as it continues a conversation that had blocks: with their lines, without the thinking since. */
  #whole(wire: SeamWire, one: Compaction): Buffer {
    const { body, dialect } = this.#request;
    const lined = withEdits(body, this.#lines);
    const bound = this.#answersWith(one);
    const lost = [one, ...this.#older].filter(({ state }) => state === 'lost');
    const isLost = (i: number): boolean => lost.some(({ messages, usedMessages }) => i >= usedMessages && i < messages);
    return wire.withoutThinking(lined, dialect.scan(lined), (i) => bound.isAt(i) || isLost(i)) ?? lined;
  }

  bare(): Buffer | null {
    const { body, dialect } = this.#request;
    if (this.#used !== null) return null;
    const answered = this.#answered;
    return this.#wire?.withoutThinking(body, dialect.scan(body), (i) => i >= answered) ?? null;
  }

  async lost(): Promise<void> {
    this.#wasRefused = true;
    await this.#goOnWithout(this.#answered);
  }

  /** Number of messages with the model's first answer, which every summary stands for. */
  get #answered(): number {
    return this.#request.rewritten.messages.findIndex(({ role }) => role === 'assistant') + 1;
  }

  /** Records that the conversation goes on whole, without what the model thought from a message on until now. */
  async #goOnWithout(usedMessages: number): Promise<Compaction> {
    const { rewritten } = this.#request;
    this.#seat.has(this.#request);
    const messages = rewritten.messages.length - 1;
    const lost = { ...this.#named, prefix: rewritten.prefixes[messages - 1] ?? '', messages, usedMessages };
    await this.#options.book.lost(lost).catch((cause: unknown) => this.#notNoted(cause));
    return lostOf(lost);
  }

  /** The edits that add the lines of a summary and of older ones. */
  async #lineEdits(wire: SeamWire, newest: Compaction): Promise<readonly ByteEdit[]> {
    const { body, dialect, rewritten } = this.#request;
    const { messages } = dialect.scan(body);
    const edits: ByteEdit[] = [];
    for (const one of [...this.#older.toReversed(), newest].filter(({ state }) => state !== 'lost')) {
      const { line, linePrefix } = one === newest ? await this.#placed(wire, one, messages) : one;
      const message = messages.find(
        ({ role }, i) => i >= one.messages && wire.takesLine.has(role) && rewritten.prefixes[i] === linePrefix,
      );
      const edit = message === undefined ? null : textBehind(body, message.span, wire.textType, line);
      if (edit !== null) edits.push(edit);
    }
    return edits.toSorted((a, b) => a.start - b.start);
  }

  /** A summary's line and its place: the one on record, or behind this request's newest message. */
  async #placed(
    wire: SeamWire,
    one: Compaction,
    messages: readonly ScannedMessage[],
  ): Promise<{ line: string; linePrefix: string }> {
    if (one.linePrefix !== '') return one;
    const prefix = this.#request.rewritten.prefixes[messages.length - 1] ?? '';
    const last = messages.at(-1);
    const isNever =
      this.#request.purpose !== 'generate' ||
      this.#seat.wentWithoutLine(keyOf(one), prefix) ||
      this.#seat.wentWithoutBlock(this.#key, prefix);
    if (isNever || last === undefined || !wire.takesLine.has(last.role)) return one;
    try {
      return await this.#options.book.place(one.id, lineFor(one.pictures), prefix);
    } catch (cause) {
      this.#notNoted(cause); // a later request has it
      this.#seat.goWithoutLine(keyOf(one), prefix);
      return one;
    }
  }

  async refused(): Promise<Swapped> {
    const { body, rewritten } = this.#request;
    const one = this.#used;
    this.#wasRefused = true;
    if (one === null || this.#wire === undefined) return asItIs(body);
    try {
      if (one.state === 'used' && (await this.#options.book.become(one.id, 'refused', ['used'], 'refused')))
        this.#options.onRefused(rewritten.shownId);
      else if (await this.#isKept(one)) return asItIs(this.#whole(this.#wire, await this.#unlessRefusedTwice(one)));
      return await this.#asBefore(this.#wire);
    } catch (cause) {
      this.#options.onFailure('compaction_not_dropped', cause, { requestId: this.#request.requestId });
    }
    return asItIs(body);
  }

  /** Whether a block stays: the provider accepted it, perhaps in another copy of this request. */
  async #isKept({ id, state }: Compaction): Promise<boolean> {
    const { project, rewritten } = this.#request;
    if (state === 'kept') return true;
    const known = await this.#options.book.ofConversation(project, rewritten.conversationId);
    return known.some((other) => other.id === id && other.state === 'kept');
  }

  /** A block that is refused again fits no longer what the model thought, and would be refused for ever. */
  async #unlessRefusedTwice(one: Compaction): Promise<Compaction> {
    if (!this.#seat.refuse(keyOf(one))) return one;
    this.#lines = [];
    this.#older = [];
    return this.#goOnWithout(one.usedMessages);
  }

  /** The request as it was before a summary that is given up: with the summary before it, if there is one. */
  async #asBefore(wire: SeamWire): Promise<Swapped> {
    const [before, ...older] = this.#older;
    this.swapped = null;
    if (before !== undefined) {
      this.#older = older;
      if (this.#fits(before)) await this.#swap(wire, before);
      else await this.#unbind(wire, before);
    }
    return this.swapped ?? asItIs(this.#request.body);
  }

  head(status: number, fields: readonly string[]): void {
    const { caller, purpose } = this.#request;
    if (status === TOO_MANY || status === OVERLOADED) {
      this.#seat.block(caller, headerIn(fields, 'retry-after'));
      return;
    }
    if (status < 200 || status >= 300 || purpose !== 'generate') return;
    this.#seat.succeeded(caller);
    if (this.isUnknown && !this.#wasRefused) this.#seat.answerWhole(this.#key);
    const one = this.#used;
    if (one !== null && !this.#wasRefused) this.#seat.accept(keyOf(one));
    if (one?.state === 'used' && !this.#wasRefused) {
      this.#options.book.become(one.id, 'kept', ['used']).catch((cause: unknown) => this.#notNoted(cause));
    }
    this.#compactAtSeam();
  }

  /** Starts a compaction beside the seam's own answer, if this request is a seam at which it pays. */
  #compactAtSeam(): void {
    const { rewritten, isQuiet, caller } = this.#request;
    const wire = this.#wire;
    if (wire === undefined || this.#known === null || isQuiet || rewritten.heldOut || this.#seat.isBlocked(caller))
      return;
    if (this.#wasRefused || this.#seat.settingFor(this.#request) !== 'on') return;
    const count = seamAt(rewritten);
    if (count === null) return;
    const prefix = rewritten.prefixes[count - 1];
    if (prefix === undefined) return;
    const answered = this.#seat.lastAnswered(this.#key);
    const work = this.#options.background.consider({
      request: this.#request,
      wire,
      sent: this.swapped?.body ?? this.#request.body,
      count,
      prefix,
      known: this.#known,
      used: this.#used,
      weight: answered?.tokens ?? null,
      first: answered?.firstTokens ?? null,
      budgets: this.#options.budgets(),
      busy: (retryAfter) => this.#seat.block(caller, retryAfter),
    });
    this.#seat.considering(this.#request, work);
  }

  ended(usage: ProviderUsage | null): void {
    const { project, purpose, rewritten } = this.#request;
    if (purpose !== 'generate') return;
    this.#seat.answered(project, rewritten.shownId, usage);
    const { received: body, messages } = rewritten;
    const one = this.#used;
    if (one === null || this.swapped === null) return;
    const { messages: replaced, usedMessages } = one;
    try {
      const tokens = this.#seat.readAgain({ key: keyOf(one), body, messages, replaced, usedMessages });
      if (tokens > 0) this.#options.book.readAgain(one.id, tokens).catch((cause: unknown) => this.#notNoted(cause));
    } catch (cause) {
      this.#notNoted(cause);
    }
  }

  #notNoted(cause: unknown): void {
    this.#options.onFailure('compaction_not_noted', cause, { requestId: this.#request.requestId });
  }
}

const HELD: ReadonlySet<string> = new Set(['ready', 'used', 'kept', 'lost']);
const TOO_MANY = 429;
const OVERLOADED = 529;

/** A body without a summary. */
function asItIs(body: Buffer): Swapped {
  return { body, beta: '', replaced: 0 };
}

/** A summary stands for an answer at least. */
function isAnswered({ rewritten }: SeamRequest): boolean {
  return rewritten.messages.some(({ role }) => role === 'assistant');
}

function headerIn(fields: readonly string[], name: string): string {
  const at = fields.findIndex((field, i) => i % 2 === 0 && field.toLowerCase() === name);
  return at < 0 ? '' : (fields[at + 1] ?? '');
}

/** When a `Retry-After` ends: after seconds, or at a date. Without one that can be read, never. */
function timeIn(retryAfter: string, nowMs: number): number {
  const seconds = Number(retryAfter);
  if (retryAfter.trim() !== '' && Number.isFinite(seconds)) return nowMs + seconds * 1000;
  const atMs = Date.parse(retryAfter);
  return Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : atMs;
}

/** The line that reports to the model which messages are gone. */
function lineFor(pictures: number): string {
  const gone = pictures === 0 ? '' : ` ${pictures} pictures or documents in them are no longer visible.`;
  return `Earlier messages of this conversation were replaced by the summary at its beginning.${gone} What was read in them is still stored word for word: the tool recall searches it, and recover_text returns the lines behind a prune id.`;
}
