import { recover } from '../../src/core/calls/recover.ts';
import type { RequestPipeline } from '../../src/core/request/pipeline.ts';
import { always, PRUNE } from '../../src/core/request/policy.ts';
import type { RewrittenRequest } from '../../src/core/request/rewritten.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { SqliteStore } from '../../src/store/sqlite.ts';
import { JsonShapeError } from '../../src/wires/json/cursor.ts';
import type { ChatCase, Mutation, Turn } from './cases.ts';
import { Broken, checkCuts, difference, must } from './check.ts';
import { expectedRaw, linesOf, markerOf, type Pruned } from './expected.ts';
import type { Ground } from './ground.ts';
import { type Leaf, NotJson, stringsOf } from './json-reader.ts';
import { Random } from './random.ts';
import { type Style, writeJson } from './spelling.ts';
import { userContent, wrapped } from './wire.ts';
import { shapes, type WireShape } from './wire-shapes.ts';

/** A conversation over the whole pipeline, request by request, and once more after a restart and without its store. */
export async function checkChat(given: ChatCase, ground: Ground): Promise<void> {
  if (!given.onFile) {
    const { main, other } = ground.stores;
    return new Talk(given, ground, main).run(() => main, other);
  }
  return ground.onFile((open) => new Talk(given, ground, open()).run(open, ground.stores.other));
}

type CallTurn = Extract<Turn, { kind: 'call' }>;

class Talk {
  readonly #given: ChatCase;
  readonly #ground: Ground;
  readonly #store: SqliteStore;
  readonly #style: Style;
  readonly #wire: WireShape;
  /** Messages as the client writes them. */
  readonly #messages: string[] = [];
  readonly #calls: { readonly turn: CallTurn; readonly result: number }[] = [];
  /** What was cut so far, with the message it stands in. */
  readonly #cut: (Pruned & { readonly message: number })[] = [];
  /** Messages that must stay whole, and why. */
  readonly #whole = new Map<number, string>();
  /** Something in the conversation is known to the store alone. */
  #needsStore = false;

  constructor(given: ChatCase, ground: Ground, store: SqliteStore) {
    this.#given = given;
    this.#wire = shapes[given.wire ?? 'chat'];
    this.#ground = ground;
    this.#store = store;
    const { seed, spaces, escapes } = given.style;
    this.#style = { random: new Random(seed), spaces, escapes };
  }

  async run(reopen: () => SqliteStore, other: SqliteStore): Promise<void> {
    const { settings, turns, movingMark, mutations } = this.#given;
    const rewriter = this.#ground.rewriter(this.#store, settings);
    let before: Buffer = Buffer.alloc(0);
    let last: { readonly body: Buffer; readonly out: Buffer } | null = null;
    for (const turn of turns) {
      const added = await this.#messagesOf(turn);
      if (added.length === 0) continue;
      this.#messages.push(
        ...added.map((message) => (typeof message === 'string' ? message : writeJson(message, this.#style))),
      );
      const body = this.#body();
      const out = (await this.#checked(rewriter, body, this.#store, true)).body;
      const tail = Buffer.byteLength(this.#tail());
      const head = out.subarray(0, out.length - tail);
      must(movingMark || head.subarray(0, before.length).equals(before), 'begins with what went before', () =>
        difference(head.toString('latin1'), before.toString('latin1')),
      );
      before = head;
      last = { body, out };
    }
    if (!last) return;
    const { body, out } = last;
    const restarted = this.#ground.rewriter(reopen(), settings);
    this.#same(
      out,
      (await restarted.rewrite({ body, dialect: this.#wire.dialect })).body,
      'same bytes after a restart',
    );
    if (!this.#needsStore) {
      const lost = this.#ground.rewriter(other, settings);
      this.#same(
        out,
        (await lost.rewrite({ body, dialect: this.#wire.dialect }, always({ ...PRUNE, history: 're-prune' }))).body,
        'same bytes without the store',
      );
    }
    const plain = turns.every(({ kind }) => kind !== 'fed-back' && kind !== 'recovered'); // these need a store
    if (plain && this.#given.style.seed % 4 === 0) {
      const dry = await this.#ground.rewriter(other, settings).rewriteDry({ body, dialect: this.#wire.dialect });
      this.#same(out, dry.body, 'a dry run says what would be cut');
    }
    if (mutations.length > 0) await this.#mutated(rewriter, body, out);
  }

  #same(out: Buffer, again: Buffer, rule: string): void {
    must(again.equals(out), rule, () => difference(again.toString('latin1'), out.toString('latin1')));
  }

  /** A damaged body: forwarded or refused alike whatever was seen before, and the sound one fares as it did. */
  async #mutated(rewriter: RequestPipeline, body: Buffer, out: Buffer): Promise<void> {
    const broken = this.#given.mutations.reduce(mutate, body);
    const fresh = this.#ground.rewriter(this.#store, this.#given.settings);
    const [warm, cold] = [await this.#attempt(rewriter, broken), await this.#attempt(fresh, broken)];
    must((warm === null) === (cold === null), 'a remembered body changes no refusal');
    if (warm && cold) this.#same(cold, warm, 'a remembered body changes no bytes');
    this.#same(
      out,
      (await rewriter.rewrite({ body, dialect: this.#wire.dialect })).body,
      'same bytes after a damaged body',
    );
  }

  async #attempt(rewriter: RequestPipeline, body: Buffer): Promise<Buffer | null> {
    try {
      return (await this.#checked(rewriter, body, this.#store, false)).body;
    } catch (cause) {
      if (cause instanceof JsonShapeError) return null;
      throw cause;
    }
  }

  async #messagesOf(turn: Turn): Promise<(string | object)[]> {
    const id = `c${this.#messages.length}`;
    switch (turn.kind) {
      case 'odd':
        return [turn.raw];
      case 'user':
        return [this.#wire.user(userContent(turn))];
      case 'call': {
        this.#calls.push({ turn, result: this.#messages.length + 1 });
        if (turn.tool === 'fetch') this.#whole.set(this.#messages.length + 1, 'an exempt tool');
        return this.#wire.call(id, turn, wrapped(turn.text, turn.wrap));
      }
      case 'again': {
        const earlier = pickOf(this.#calls, turn.of);
        if (!earlier) return [];
        const text = turn.digits
          ? earlier.turn.text.replace(/\d/g, (digit) => String((Number(digit) * 7 + 3) % 10))
          : earlier.turn.text;
        const { legacy, argsAsObject, wrap } = earlier.turn;
        // arguments that are an object are spelled anew each time, as no client does
        const asObject = argsAsObject || /^(?:messages|gemini)$/.test(this.#wire.dialect.name);
        if (!legacy && !asObject && wrap !== 'pretty') this.#whole.set(this.#messages.length + 1, 'read again');
        return this.#wire.call(id, earlier.turn, wrapped(text, wrap));
      }
      case 'recovered': {
        const cut = pickOf(this.#cut, turn.of);
        const range = cut?.cuts[0];
        if (!cut || !range) return [];
        const text = await recover(
          { store: this.#store, onFailure: () => undefined },
          { pruneId: cut.pruneId, ranges: [range], numbered: false },
        );
        this.#needsStore ||= !turn.named;
        this.#whole.set(this.#messages.length + 1, 'recovered');
        const tool = turn.named ? 'mcp__pruner__recover_text' : 'bridge';
        const call = { tool, args: `{"prune_id":"${cut.pruneId}"}`, said: '', legacy: false, argsAsObject: false };
        return this.#wire.call(id, call, wrapped(text, turn.wrap, turn.wrap !== 'plain'));
      }
      case 'fed-back': {
        const cut = pickOf(this.#cut, turn.of);
        if (!cut) return [];
        this.#whole.set(this.#messages.length + 1, 'carries markers');
        const call = { tool: 'bash', args: '{"command":"cat notes"}', said: '', legacy: false, argsAsObject: false };
        const [first] = cut.cuts;
        const marker = first ? markerOf(cut.pruneId, first) : cut.pruneId;
        return this.#wire.call(id, call, `${turn.more}\n${marker}\n${turn.more}`);
      }
    }
  }

  #tail(): string {
    return `]${this.#given.after === '' ? '' : `,${this.#given.after}`}}`;
  }

  #body(): Buffer {
    const { before, movingMark } = this.#given;
    const messages = movingMark
      ? this.#messages.map((message, i) =>
          i === this.#messages.length - 1 && /^\{.*[^{\s]\s*\}$/s.test(message)
            ? `${message.slice(0, -1)},"cache_control":{"type":"ephemeral"}}`
            : message,
        )
      : this.#messages;
    return Buffer.from(`{${before},"${this.#wire.list}":[${messages.join(',')}${this.#tail()}`);
  }

  /** Rewrites a body and holds the result against what the store says was cut, byte for byte. */
  async #checked(
    rewriter: RequestPipeline,
    body: Buffer,
    store: SqliteStore,
    sound: boolean,
  ): Promise<RewrittenRequest> {
    const rewritten = await rewriter.rewrite({ body, dialect: this.#wire.dialect });
    const pruned = new Map<number, Pruned[]>();
    for (const outcome of rewritten.outcomes) {
      const { pruneId, messageIndex } = outcome;
      if (pruneId === null) continue;
      const [found, text] = [await store.findPrune(pruneId), await store.findOriginal(pruneId)];
      must(found !== null && text !== null, 'every marker recovers', () => pruneId);
      const { cuts } = found.decision;
      checkCuts(cuts, linesOf(text).length, this.#given.settings);
      must(cuts.length > 0, 'a cut is one');
      const one = { pruneId, text, cuts };
      pruned.set(messageIndex, [...(pruned.get(messageIndex) ?? []), one]);
      if (!sound) continue;
      const why = this.#whole.get(messageIndex);
      must(why === undefined, `stays whole: ${why}`, () => `message ${messageIndex} was cut`);
      if (!this.#cut.some((other) => other.pruneId === pruneId)) this.#cut.push({ ...one, message: messageIndex });
    }
    if (pruned.size === 0) must(rewritten.body === body, 'nothing to prune, nothing touched');
    else this.#compare(body, rewritten.body, pruned);
    return rewritten;
  }

  #compare(body: Buffer, out: Buffer, pruned: ReadonlyMap<number, Pruned[]>): void {
    const text = body.toString('latin1');
    const pieces: string[] = [];
    let at = 0;
    for (const leaf of contentsOf(text, this.#wire)) {
      const pending = pruned.get(Number(leaf.path[1]));
      if (!pending || pending.length === 0) continue;
      const bytes = text.slice(leaf.start + 1, leaf.end - 1);
      const raw = Buffer.from(bytes, 'latin1').toString('utf8');
      // What cannot be read must not be changed; another part of the message may be.
      if (!isReadable(raw) || Buffer.from(raw, 'utf8').toString('latin1') !== bytes) continue;
      const wanted = expectedRaw(raw, pending, { ...this.#given.settings, includeMarkers: true });
      const [before, after] = [tokensOf(raw), tokensOf(wanted)];
      must(after <= before, 'never more tokens', () => `message ${leaf.path[1]}: ${before} became ${after}`);
      pieces.push(text.slice(at, leaf.start + 1), Buffer.from(wanted, 'utf8').toString('latin1'));
      at = leaf.end - 1;
    }
    pieces.push(text.slice(at));
    for (const [message, left] of pruned)
      must(left.length === 0, 'cuts stand where they were made', () => `message ${message}`);
    const [got, wanted] = [out.toString('latin1'), pieces.join('')];
    must(got === wanted, 'byte-exact outside the cuts', () => difference(got, wanted));
  }
}

function isReadable(raw: string): boolean {
  try {
    JSON.parse(`"${raw}"`);
    return true;
  } catch {
    return false;
  }
}

function tokensOf(raw: string): number {
  return estimateTokens(String(JSON.parse(`"${raw}"`)));
}

/** The strings of a body that may be cut at all: contents of results and of what users send, and their text parts. */
function contentsOf(text: string, { list, kindKey, mayCut }: WireShape): Leaf[] {
  try {
    const leaves = stringsOf(text);
    const kinds = new Map<unknown, string>();
    for (const { path, start, end } of leaves) {
      if (path[0] === list && path[2] === kindKey && path.length === 3) kinds.set(path[1], text.slice(start, end));
    }
    return leaves.filter(({ path }) => path[0] === list && mayCut(path, roleIn(kinds.get(path[1]))));
  } catch (cause) {
    if (cause instanceof NotJson) throw new Broken('only JSON is cut', 'a body that is not JSON was changed');
    throw cause;
  }
}

/** What a message calls itself, undefined where it does not. A role whose escapes are broken is none that anybody knows. */
function roleIn(literal: string | undefined): unknown {
  try {
    if (literal === undefined) return undefined;
    return JSON.parse(literal);
  } catch {
    return '';
  }
}

function pickOf<T>(items: readonly T[], index: number): T | undefined {
  return items[index % Math.max(1, items.length)];
}

function mutate(body: Buffer, { kind, at, size, byte }: Mutation): Buffer {
  const from = Math.min(body.length, Math.floor((body.length * at) / 1_000));
  const to = Math.min(body.length, from + size);
  const [head, middle, tail] = [body.subarray(0, from), body.subarray(from, to), body.subarray(to)];
  switch (kind) {
    case 'flip':
      return Buffer.concat([head, Buffer.alloc(Math.min(1, middle.length), byte), body.subarray(from + 1)]);
    case 'drop':
      return Buffer.concat([head, tail]);
    case 'insert':
      return Buffer.concat([head, Buffer.from([byte]), middle, tail]);
    case 'cut':
      return head;
    case 'copy':
      return Buffer.concat([head, middle, middle, tail]);
  }
}
