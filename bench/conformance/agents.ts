import { gzipSync } from 'node:zlib';
import WebSocket from 'ws';
import { zstdStored } from '../../test/helpers/zstd-frame.ts';
import { Random } from '../fuzz/random.ts';
import { makeText } from '../fuzz/texts.ts';
import { type Call, type ClientWire, clientWires } from './client-wires.ts';
import type { Correspondent } from './correspondent.ts';
import type { AgentPlan, Json, Script } from './types.ts';

const COMMANDS = [
  'npm test',
  'cat app.log',
  'git diff',
  'ls -la src',
  'cat src/server.ts',
  'journalctl -u app',
] as const;
const FILES = ['src/server.ts', 'src/cart.ts', 'app.log', 'README.md', 'test/cart.test.ts'] as const;
const WORDS = [
  'Why does the checkout fail for some of the customers?',
  'Find the request that times out, and say which handler it is.',
  'The cart shows a wrong total. Repair it and run the tests.',
  'Which of the dependencies is outdated?',
] as const;
/** Failures that a client answers by sending the same request again. */
const RETRIED = new Set([0, 408, 429, 500, 502, 503, 529]);
const MAX_TRIES = 4;

/** What an agent needs of its surroundings. */
export interface Ground {
  /** Base URL of the proxy, without `/v1`. */
  readonly url: () => string;
  /** Whether single requests switch the proxy off by its header. */
  readonly hasHeader: boolean;
  /** Tasks end often, and single requests switch the proxy off seldom. */
  readonly hasSeams: boolean;
  /** Resolves once the proxy can be reached. */
  readonly ready: () => Promise<void>;
  /** Further headers that the proxy needs. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The next answer of the model, decided by the seed of a step. */
function scriptOf(random: Random, hasSeams: boolean): Script {
  const count = random.pick(hasSeams ? [0, 0, 1, 1, 2] : [0, 1, 1, 1, 2, 3]);
  const calls = random.list(count, () => {
    const name = random.pick(['bash', 'read_file', 'grep', 'list_dir']);
    return { name, args: { target: name === 'bash' ? random.pick(COMMANDS) : random.pick(FILES) } };
  });
  const fails = random.once(12) ? [random.pick([500, 429, 529, 503])] : [];
  const says = random.once(3) || count === 0 ? random.pick(WORDS) : '';
  return { calls, says, fails, hangs: false, forgets: random.once(10) };
}

/** One conversation of an agent that works as its plan says. */
export class Agent {
  readonly plan: AgentPlan;
  readonly at: Correspondent;
  /** The session that the agent names in a header, or `''`; a helper shares that of its parent. */
  session: string;
  readonly #ground: Ground;
  readonly #wire: ClientWire;
  model: string;
  #history: Json[] = [];
  /** Number of entries that the upstream keeps under `#previous`. */
  #kept = 0;
  #previous = '';
  #pending: Call[] = [];
  #socket: WebSocket | null = null;
  /** Requests are frames of a WebSocket. */
  #isSocket: boolean;
  /** Texts of results as the tools gave them, by the ids of their calls. */
  readonly results = new Map<string, string>();
  /** A request failed for good: the session is broken. */
  failed = '';
  /** A request of this agent switched the proxy off. */
  wasOff = false;

  constructor(plan: AgentPlan, at: Correspondent, ground: Ground, session = at.id) {
    this.plan = plan;
    this.at = at;
    this.session = session;
    this.#ground = ground;
    this.#wire = clientWires[plan.wire];
    this.model = plan.model;
    this.#isSocket = plan.socket;
  }

  /** The user or the tools say something, and the model answers. */
  async turn(seed: number): Promise<void> {
    if (this.failed !== '') return;
    const random = new Random(seed);
    this.#speak(random);
    const { hasSeams, hasHeader } = this.#ground;
    this.at.script = scriptOf(random, hasSeams);
    const isOff = random.once(hasSeams ? 30 : 8) && hasHeader;
    if (random.once(15)) await this.#abort();
    if (random.once(20)) this.#closeSocket();
    await this.#send(isOff);
  }

  /** Counts the tokens of the history so far, as some clients do before each turn. */
  async count(): Promise<void> {
    if (this.plan.wire !== 'messages' || this.#history.length === 0 || this.failed !== '') return;
    const { max_tokens: _max, stream: _stream, thread: _thread, ...body } = this.#body(true);
    await this.#post('/v1/messages/count_tokens', body, false);
  }

  /** The client replaces its history by a summary. */
  async compact(seed: number): Promise<void> {
    if (this.failed !== '' || this.#history.length === 0) return;
    if (this.plan.wire === 'responses' && this.plan.state === 'whole') {
      const { stream: _stream, store: _store, include: _include, ...body } = this.#body(true);
      await this.#post('/v1/responses/compact', body, false);
    }
    const words = `The session so far: ${new Random(seed).pick(WORDS)} The work goes on.`;
    this.#history = [this.#wire.words(words, false)];
    this.#pending = [];
    this.#forget();
    this.at.rewrite();
  }

  /** Another conversation that begins with a part of this one. */
  fork(at: Correspondent, seed: number): Agent {
    const fork = new Agent(this.plan, at, this.#ground);
    const ends = this.#history.flatMap(({ role, type }, i) =>
      role === 'assistant' || role === 'model' || type === 'reasoning' || type === 'thought' ? [i] : [],
    );
    // cut before an answer of the model: what follows is said anew
    fork.#history = this.#history.slice(0, ends[new Random(seed).below(ends.length)] ?? 0);
    fork.model = this.model;
    fork.wasOff = this.wasOff;
    for (const [id, text] of this.results) fork.results.set(id, text);
    return fork;
  }

  /**
   * The session is opened again: the whole history is sent, as it was read from a file, by a client without the id. Where
   * summaries are made, it goes on over a WebSocket then, or over POST again.
   */
  resume(): void {
    const { wire, state } = this.plan;
    this.session = this.session === '' ? this.at.id : '';
    this.#closeSocket();
    this.#forget();
    if (this.#ground.hasSeams && wire === 'responses' && state === 'whole') this.#isSocket = !this.#isSocket;
    this.#history = this.#history.map((entry) => this.#wire.respelled(entry));
  }

  /** The user chooses another model of the same provider. */
  useModel(model: string, checks: boolean): void {
    this.model = model;
    // nothing that a model can read was made from what was put aside under one that does not check
    if (checks && !this.at.checks) this.at.rewrite();
    this.at.checks = checks;
    // a provider continues an answer of another model neither in a thread nor on a connection
    this.#forget();
  }

  close(): void {
    this.#closeSocket();
  }

  #forget(): void {
    this.#kept = 0;
    this.#previous = '';
  }

  #closeSocket(): void {
    this.#socket?.terminate();
    this.#socket = null;
    if (this.#isSocket) this.#forget();
  }

  /** Adds the results of the pending calls, or the user's words. */
  #speak(random: Random): void {
    const calls = this.#pending;
    this.#pending = [];
    const results = calls.map((call) => ({
      call,
      text: random.once(9) ? 'ok' : makeText(new Random(random.next()), 160),
    }));
    for (const { call, text } of results) this.results.set(call.id, text);
    const words = random.pick(WORDS);
    const file = random.once(6) ? `\n\n<file path="${random.pick(FILES)}">\n${makeText(random, 120)}\n</file>` : '';
    const [hasPicture, hasReminder] = [random.once(14), random.once(5)];
    if (results.length === 0) this.#history.push(this.#wire.words(words + file, hasPicture));
    else this.#history.push(...this.#wire.results(results, this.plan, hasPicture, hasReminder));
  }

  /** @param isWhole - the whole history, although the provider keeps it */
  #body(isWhole: boolean): Json {
    const previous = isWhole ? '' : this.#previous;
    const entries = this.#history.slice(previous === '' ? 0 : this.#kept);
    return this.#wire.body(this.#head, entries, previous);
  }

  get #head(): { plan: AgentPlan; model: string; name: string } {
    return { plan: this.plan, model: this.model, name: this.at.id };
  }

  /** Sends the history until it is answered. */
  async #send(isOff: boolean): Promise<void> {
    this.wasOff ||= isOff;
    let status = 0;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      await this.#ground.ready();
      status = await this.#try(isOff);
      if (status === 200) return this.#answered();
      if (this.#previous !== '' && !RETRIED.has(status)) {
        // the provider no longer has the history: everything again
        this.#forget();
        this.at.script = { ...this.at.script, forgets: false };
      } else if (!RETRIED.has(status)) {
        this.failed = `status ${status}`;
        return;
      }
    }
    this.failed = `no answer, last status ${status}`;
  }

  #try(isOff: boolean, signal?: AbortSignal): Promise<number> {
    if (this.#isSocket) return this.#frame(signal);
    return this.#post(this.#wire.path(this.#head), this.#body(false), isOff, signal);
  }

  /** Takes the answer over into the history. */
  #answered(): void {
    const { answer, answerId } = this.at;
    this.#history.push(...answer.map((item) => this.#wire.answered(item)));
    this.#pending = answer.flatMap((item) => this.#wire.calls(item));
    if (this.plan.state !== 'delta' && !this.#isSocket) return;
    this.#previous = answerId;
    this.#kept = this.#history.length;
  }

  /** The user stops the agent while the model works. */
  async #abort(): Promise<void> {
    const { script } = this.at;
    this.at.script = { ...script, fails: [], hangs: true, forgets: false };
    const stop = new AbortController();
    const before = this.at.requests;
    const tried = this.#try(false, stop.signal);
    for (let i = 0; i < 200 && this.at.requests === before; i++) await new Promise((go) => setTimeout(go, 10));
    stop.abort();
    await tried;
    this.at.script = script;
  }

  get #named(): Readonly<Record<string, string>> {
    return this.session === '' ? {} : { 'x-session-id': this.session };
  }

  async #post(path: string, body: Json, isOff: boolean, signal?: AbortSignal): Promise<number> {
    const bytes = Buffer.from(JSON.stringify(body));
    const { encoding } = this.plan;
    const headers = {
      'content-type': 'application/json',
      ...(this.plan.wire === 'messages' && { 'anthropic-version': '2023-06-01' }),
      'x-api-key': 'sk-conformance',
      'x-goog-api-key': 'sk-conformance',
      authorization: 'Bearer sk-conformance',
      ...this.#named,
      ...(encoding !== '' && { 'content-encoding': encoding }),
      ...(isOff && { 'x-mcp-pruner': 'off' }),
      ...this.#ground.headers,
    };
    const sent = encoding === 'gzip' ? gzipSync(bytes) : encoding === 'zstd' ? zstdStored(bytes) : bytes;
    try {
      const init = { method: 'POST', headers, body: sent, ...(signal && { signal }) };
      const answer = await fetch(`${this.#ground.url()}${path}`, init);
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return 0;
    }
  }

  /** One request in a frame; the status of its answer. Like Codex, a client may prepare a connection first. */
  async #frame(signal?: AbortSignal): Promise<number> {
    const isPrepared = this.#socket === null && this.plan.state === 'whole' && this.plan.stream;
    const socket = await this.#connected();
    if (socket === null) return 0;
    if (isPrepared && this.#previous === '') {
      const status = await this.#exchange(socket, { ...this.#body(true), input: [], generate: false }, signal);
      if (status !== 200) return status;
      this.#previous = this.at.answerId;
    }
    return this.#exchange(socket, this.#body(false), signal);
  }

  #exchange(socket: WebSocket, body: Json, signal: AbortSignal | undefined): Promise<number> {
    return new Promise((resolve) => {
      const done = (status: number): void => {
        socket.off('message', onMessage).off('close', onClose);
        resolve(status);
      };
      const onClose = (): void => {
        this.#closeSocket();
        done(0);
      };
      const onMessage = (data: Buffer): void => {
        const event = JSON.parse(data.toString('utf8')) as { type: string; status?: number };
        if (event.type === 'response.completed') done(200);
        if (event.type === 'error') done(event.status ?? 400);
      };
      socket.on('message', onMessage).on('close', onClose);
      signal?.addEventListener('abort', onClose);
      socket.send(JSON.stringify({ type: 'response.create', ...body }));
    });
  }

  async #connected(): Promise<WebSocket | null> {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket;
    this.#closeSocket();
    const socket = new WebSocket(`${this.#ground.url().replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: 'Bearer sk-conformance', ...this.#named, ...this.#ground.headers },
    });
    socket.on('error', () => {});
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('open', () => resolve(true)).once('close', () => resolve(false));
    });
    this.#socket = isOpen ? socket : null;
    return this.#socket;
  }
}
