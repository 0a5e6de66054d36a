import { gzipSync } from 'node:zlib';
import WebSocket from 'ws';
import { Random } from '../fuzz/random.ts';
import { makeText } from '../fuzz/texts.ts';
import type { AgentPlan, Script } from './types.ts';
import { type Correspondent, runName } from './upstream.ts';

type Json = Record<string, unknown>;

/** A tool that every agent declares, with a description long enough to be shortened. */
function toolNamed(name: string): { name: string; description: string; parameters: Json } {
  const properties = {
    target: { type: 'string', description: 'The path or the command, relative to the root of the project.' },
  };
  const description = `Runs ${name}. ${'Use it when the task needs it, and prefer the smallest target that answers the question. '.repeat(8)}`;
  return { name, description, parameters: { type: 'object', properties, required: ['target'] } };
}

const TOOLS = ['bash', 'read_file', 'grep', 'list_dir'].map(toolNamed);
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
const SYSTEM = 'You are a careful engineer. You work in a repository and use the tools that you have.';
/** Failures that a client answers by sending the same request again. */
const RETRIED = new Set([0, 408, 429, 500, 502, 503, 529]);
const MAX_TRIES = 4;

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: Json;
}

/** What an agent needs of its surroundings. */
export interface Ground {
  /** Base URL of the proxy, without `/v1`. */
  readonly url: () => string;
  /** Whether the proxy is ours, so that its header may be used. */
  readonly hasHeader: boolean;
}

/** The next answer of the model, decided by the seed of a step. */
function scriptOf(random: Random): Script {
  const count = random.pick([0, 1, 1, 1, 2, 3]);
  const calls = random.list(count, () => {
    const name = random.pick(['bash', 'read_file', 'grep', 'list_dir']);
    return { name, args: { target: name === 'bash' ? random.pick(COMMANDS) : random.pick(FILES) } };
  });
  const fails = random.once(12) ? [random.pick([500, 429, 529, 503])] : [];
  return { calls, says: random.once(3) || count === 0 ? random.pick(WORDS) : '', fails, hangs: false, forgets: false };
}

/** One conversation of an agent that works as its plan says. */
export class Agent {
  readonly plan: AgentPlan;
  readonly name: string;
  readonly at: Correspondent;
  readonly #ground: Ground;
  /** The history in the agent's own words: messages, or items. */
  #history: Json[] = [];
  /** Number of entries that the upstream keeps under `#previous`. */
  #kept = 0;
  #previous = '';
  #pending: Call[] = [];
  #socket: WebSocket | null = null;
  /** Texts of results as the tools gave them, by the ids of their calls. */
  readonly results = new Map<string, string>();
  /** A request failed for good: the session is broken. */
  failed = '';
  turns = 0;

  constructor(plan: AgentPlan, at: Correspondent, ground: Ground) {
    this.plan = plan;
    this.at = at;
    this.name = at.id;
    this.#ground = ground;
  }

  /** The user or the tools say something, and the model answers. */
  async turn(seed: number): Promise<void> {
    if (this.failed !== '') return;
    const random = new Random(seed);
    this.#speak(random);
    this.at.script = { ...scriptOf(random), forgets: random.once(10) };
    const isOff = this.#ground.hasHeader && random.once(8);
    if (random.once(15)) await this.#abort();
    if (random.once(20)) this.#closeSocket();
    await this.#send(isOff);
    this.turns++;
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
      await this.#post(
        '/v1/responses/compact',
        { model: this.plan.model, ...this.#fields(), input: this.#history },
        false,
      );
    }
    const words = `The session so far: ${new Random(seed).pick(WORDS)} The work goes on.`;
    this.#history = [{ role: 'user', content: words }];
    this.#pending = [];
    this.#forget();
    this.at.rewrite();
  }

  /** Another conversation that begins with a part of this one. */
  fork(at: Correspondent, seed: number): Agent {
    const fork = new Agent(this.plan, at, this.#ground);
    const ends = this.#history.flatMap(({ role, type }, i) =>
      role === 'assistant' || type === 'reasoning' ? [i] : [],
    );
    const end = ends[new Random(seed).below(ends.length)] ?? 0;
    // a responses history is cut before the model's answer, a history of messages too: what follows is said anew
    fork.#history = this.#history.slice(0, end);
    for (const [id, text] of this.results) fork.results.set(id, text);
    return fork;
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
    if (this.plan.socket) this.#forget();
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
    const words = random.once(6)
      ? `${random.pick(WORDS)}\n\n<file path="${random.pick(FILES)}">\n${makeText(random, 120)}\n</file>`
      : random.pick(WORDS);
    const { wire } = this.plan;
    if (wire === 'messages') {
      const blocks: Json[] = results.map(({ call, text }) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: text,
      }));
      if (random.once(14)) blocks.push(IMAGE);
      if (results.length === 0) this.#history.push({ role: 'user', content: words });
      else
        this.#history.push({
          role: 'user',
          content: random.once(5) ? [...blocks, { type: 'text', text: REMINDER }] : blocks,
        });
    } else if (wire === 'responses') {
      for (const { call, text } of results)
        this.#history.push({ type: 'function_call_output', call_id: call.id, output: text });
      if (results.length === 0) this.#history.push({ role: 'user', content: [{ type: 'input_text', text: words }] });
    } else {
      for (const { call, text } of results) this.#history.push({ role: 'tool', tool_call_id: call.id, content: text });
      if (results.length === 0) this.#history.push({ role: 'user', content: words });
    }
  }

  /** Fields besides the history. */
  #fields(): Json {
    const { wire, model, stream } = this.plan;
    if (wire === 'messages') {
      const tools = TOOLS.map(({ parameters, ...rest }) => ({ ...rest, input_schema: parameters }));
      const binding = this.plan.drops ? { block_binding: { prefix_mismatch_behavior: 'drop_block' } } : {};
      const thinking = { type: 'enabled', budget_tokens: 2000, ...binding };
      return { model, max_tokens: 4000, stream, system: SYSTEM, tools, thinking, metadata: { user_id: this.name } };
    }
    if (wire === 'responses') {
      const tools = TOOLS.map((tool) => ({ type: 'function', ...tool }));
      const include = ['reasoning.encrypted_content'];
      const store = this.plan.state === 'delta' && !this.plan.socket;
      return {
        model,
        instructions: SYSTEM,
        tools,
        stream,
        store,
        include,
        reasoning: { effort: 'medium' },
        prompt_cache_key: this.name,
      };
    }
    return { model, stream, tools: TOOLS.map((tool) => ({ type: 'function', function: tool })), user: this.name };
  }

  /** @param isWhole - the whole history, although the provider keeps it */
  #body(isWhole: boolean): Json {
    const { wire, state } = this.plan;
    const from = isWhole || this.#previous === '' ? 0 : this.#kept;
    if (wire === 'messages') {
      const thread = from > 0 ? { type: 'continue', previous_message_id: this.#previous } : { type: 'create' };
      const messages = marked(this.#history.slice(from));
      return { ...this.#fields(), messages, ...(state === 'delta' && { thread }) };
    }
    if (wire === 'responses') {
      const input = this.#history.slice(from);
      return { ...this.#fields(), input, ...(from > 0 && { previous_response_id: this.#previous }) };
    }
    return { ...this.#fields(), messages: [{ role: 'system', content: SYSTEM }, ...this.#history] };
  }

  /** Sends the history until it is answered. */
  async #send(isOff: boolean): Promise<void> {
    let isWhole = false;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const status = this.plan.socket
        ? await this.#frame(isWhole)
        : await this.#post(this.#path, this.#body(isWhole), isOff);
      if (status === 200) return this.#answered();
      if (this.#previous !== '' && !RETRIED.has(status)) {
        // the provider no longer has the history: everything again
        this.#forget();
        isWhole = true;
        this.at.script = { ...this.at.script, forgets: false };
      } else if (!RETRIED.has(status)) {
        this.failed = `status ${status}`;
        return;
      }
    }
    this.failed = 'no answer';
  }

  get #path(): string {
    const { wire } = this.plan;
    return wire === 'messages'
      ? '/v1/messages?beta=true'
      : wire === 'responses'
        ? '/v1/responses'
        : '/v1/chat/completions';
  }

  /** Takes the answer over into the history. Clients send items back in spellings of their own. */
  #answered(): void {
    const { wire, state } = this.plan;
    const { answer, answerId } = this.at;
    this.#history.push(...answer.map((item) => (wire === 'responses' ? respelled(item) : item)));
    this.#pending = answer.flatMap((item) => callsIn(item));
    if (state !== 'delta') return;
    this.#previous = answerId;
    this.#kept = this.#history.length;
  }

  /** The user stops the agent while the model works. */
  async #abort(): Promise<void> {
    if (this.plan.socket || this.plan.state === 'delta') return;
    const { script } = this.at;
    this.at.script = { ...script, fails: [], hangs: true };
    const stop = new AbortController();
    const sent = this.#post(this.#path, this.#body(false), false, stop.signal);
    await this.#arrived();
    stop.abort();
    await sent;
    this.at.script = script;
  }

  async #arrived(): Promise<void> {
    const before = this.at.requests;
    for (let i = 0; i < 200 && this.at.requests === before; i++) await new Promise((go) => setTimeout(go, 10));
  }

  async #post(path: string, body: Json, isOff: boolean, signal?: AbortSignal): Promise<number> {
    const bytes = Buffer.from(JSON.stringify(body));
    const { encoding } = this.plan;
    const headers = {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'x-api-key': 'sk-conformance',
      authorization: 'Bearer sk-conformance',
      ...(encoding === 'gzip' && { 'content-encoding': 'gzip' }),
      ...(isOff && { 'x-mcp-pruner': 'off' }),
    };
    try {
      const sent = encoding === 'gzip' ? gzipSync(bytes) : bytes;
      const answer = await fetch(`${this.#ground.url()}${path}`, {
        method: 'POST',
        headers,
        body: sent,
        ...(signal && { signal }),
      });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return 0;
    }
  }

  /** One request in a frame; the status of its answer. */
  async #frame(isWhole: boolean): Promise<number> {
    const socket = await this.#connected();
    if (socket === null) return 0;
    const { stream: _stream, ...body } = this.#body(isWhole);
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
      socket.send(JSON.stringify({ type: 'response.create', ...body }));
    });
  }

  async #connected(): Promise<WebSocket | null> {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket;
    this.#closeSocket();
    const socket = new WebSocket(`${this.#ground.url().replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: 'Bearer sk-conformance' },
    });
    socket.on('error', () => {});
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('open', () => resolve(true)).once('close', () => resolve(false));
    });
    this.#socket = isOpen ? socket : null;
    return this.#socket;
  }
}

const IMAGE: Json = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const REMINDER = '<system-reminder>The list of tasks is empty.</system-reminder>';

/** Moves the cache mark to the newest message, as Claude Code does. */
function marked(messages: readonly Json[]): Json[] {
  return messages.map((message, i) => {
    if (i < messages.length - 1 || message.role !== 'user') return message;
    const blocks =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : (message.content as Json[]);
    const last = blocks.length - 1;
    return {
      ...message,
      content: blocks.map((block, j) => (j === last ? { ...block, cache_control: { type: 'ephemeral' } } : block)),
    };
  });
}

/** An item as Codex sends it back: other keys, no status, no id. */
function respelled(item: Json): Json {
  const { status: _status, ...rest } = item;
  if (item.type === 'reasoning') return { ...rest, content: null };
  const { id: _id, ...named } = rest;
  return named;
}

function callsIn(item: Json): Call[] {
  if (item.type === 'function_call') {
    return [{ id: String(item.call_id), name: String(item.name), args: JSON.parse(String(item.arguments)) as Json }];
  }
  if (Array.isArray(item.tool_calls)) {
    return (item.tool_calls as { id: string; function: { name: string; arguments: string } }[]).map(
      ({ id, function: made }) => ({
        id,
        name: made.name,
        args: JSON.parse(made.arguments) as Json,
      }),
    );
  }
  const content = Array.isArray(item.content) ? (item.content as Json[]) : [];
  return content.flatMap(({ type, id, name, input }) =>
    type === 'tool_use' ? { id: String(id), name: String(name), args: input as Json } : [],
  );
}

export { runName };
