import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { type WebSocket, WebSocketServer } from 'ws';
import { chainOf, digest, firstChange, plain } from './chain.ts';
import type { Break, Script, Wire } from './types.ts';

type Json = Record<string, unknown>;

/** What the upstream knows of one agent, which names itself in a field that proxies forward. */
export class Correspondent {
  readonly id: string;
  readonly wire: Wire;
  /** Whether its model checks the history, or an item may at least be expected not to change. */
  readonly checks: boolean;
  script: Script = { calls: [], says: '', fails: [], hangs: false, forgets: false };
  /** The last answer: messages of the assistant, or items. */
  answer: Json[] = [];
  answerId = '';
  requests = 0;
  /** The items of the last accepted request as they were forwarded, and their texts. */
  items: unknown[] = [];
  #texts: string[] = [];
  #head = '';
  readonly breaks: Break[] = [];
  /** Results as they were forwarded last, by the ids of their calls. */
  readonly results = new Map<string, string>();
  calls = 0;

  constructor(id: string, wire: Wire, checks: boolean) {
    this.id = id;
    this.wire = wire;
    this.checks = checks;
  }

  /** Forgets what was sent: the client itself begins anew. */
  rewrite(): void {
    this.items = [];
    this.#texts = [];
    this.#head = '';
  }

  /** Takes over what a fork begins with. */
  copy(other: Correspondent, items: number): void {
    this.items = other.items.slice(0, items);
    this.#texts = other.#texts.slice(0, items);
    this.#head = other.#head;
  }

  /** Compares a request with the one before, and notes the first change. */
  compare(head: unknown, items: readonly unknown[], effect: Break['effect'] | null): void {
    const texts = items.map((item) => JSON.stringify(plain(item)));
    const headText = JSON.stringify(plain(head));
    const at = firstChange(this.#texts, texts);
    const headChanged = this.#head !== '' && this.#head !== headText;
    if (effect !== null || headChanged || at >= 0) {
      const [was = '', is = ''] = at >= 0 ? [this.#texts[at], texts[at]] : headChanged ? [this.#head, headText] : [];
      const where = differenceOf(was, is);
      this.breaks.push({
        agent: this.id,
        wire: this.wire,
        request: this.requests,
        effect: effect ?? 'changed',
        item: at,
        was: was.slice(where, where + 160),
        is: is.slice(where, where + 160),
      });
    }
    this.#head = headText;
    this.#texts = texts;
    this.items = [...items];
  }
}

function differenceOf(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return Math.max(0, at - 40);
}

/** A stored answer with everything before it. */
interface Stored {
  readonly items: readonly unknown[];
  readonly head: unknown;
  readonly socket: WebSocket | null;
}

const REFUSED = 400;

/**
 * Two providers that check what they check in earnest. Anthropic's binding: the signature of a thinking block is a hash
 * of system, tools and messages before it, without `cache_control` and thinking; a request in which it does not fit is
 * refused, or the block is dropped and reported. OpenAI's: reasoning behind a changed item is dropped and reported.
 * Both keep histories: message threads, and `previous_response_id` on POST and WebSocket.
 */
export class CheckingUpstream {
  readonly #server: Server;
  readonly #agents = new Map<string, Correspondent>();
  readonly #stored = new Map<string, Stored>();
  #answers = 0;
  port = 0;
  /** Reports that answers named, as a provider counts them. */
  reported = 0;

  constructor() {
    this.#server = createServer((req, res) => {
      this.#serve(req, res).catch((cause: unknown) => res.destroy(cause instanceof Error ? cause : undefined));
    });
    const sockets = new WebSocketServer({ noServer: true, maxPayload: 256 * 1024 * 1024 });
    this.#server.on('upgrade', (req, socket, head) => {
      sockets.handleUpgrade(req, socket, head, (client) => this.#connect(client));
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** @param port - 0: any free one */
  async start(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  add(agent: Correspondent): void {
    this.#agents.set(agent.id, agent);
  }

  get agents(): readonly Correspondent[] {
    return [...this.#agents.values()];
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<unknown> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const bytes = req.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const path = (req.url ?? '').split('?')[0] ?? '';
    const body = (bytes.length > 0 ? JSON.parse(bytes.toString('utf8')) : {}) as Json;
    const send = (status: number, value: unknown): void =>
      void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const agent = this.#agents.get(nameIn(body));
    if (!agent) return send(404, errorOf('not_found_error', 'unknown agent'));
    agent.requests++;
    if (path.endsWith('/count_tokens')) return this.#count(body, agent, send);
    if (path.endsWith('/responses/compact')) {
      return send(200, { id: this.#nextId('resp'), output: [{ type: 'compaction', encrypted_content: 'summary' }] });
    }
    const failure = agent.script.fails.shift();
    if (failure !== undefined) return send(failure, errorOf('api_error', `failure ${failure}`));
    if (agent.script.hangs) {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(': waiting\n\n');
      await once(res, 'close');
      return;
    }
    if (path.endsWith('/messages')) this.#messages(body, agent, res, send);
    else if (path.endsWith('/responses')) this.#responses(body, agent, res, send);
    else if (path.endsWith('/chat/completions')) this.#chat(body, agent, res, send);
    else send(404, errorOf('not_found_error', path));
  }

  #nextId(kind: string): string {
    return `${kind}_${++this.#answers}`;
  }

  /** Counting runs the same check, and changes nothing. */
  #count(body: Json, agent: Correspondent, send: (status: number, value: unknown) => void): unknown {
    const { system = null, tools = null } = body;
    const at = mismatchIn([system, tools], body.messages as Json[]);
    if (at === null) return send(200, { input_tokens: Math.ceil(JSON.stringify(body).length / 4) });
    agent.compare([system, tools], body.messages as Json[], 'refused');
    send(REFUSED, bindingError(at));
  }

  // --- Anthropic

  #messages(
    body: Json,
    agent: Correspondent,
    res: ServerResponse,
    send: (status: number, value: unknown) => void,
  ): unknown {
    const thread = (body.thread ?? null) as { type: string; previous_message_id?: string } | null;
    const head = [body.system ?? null, body.tools ?? null];
    let messages = body.messages as Json[];
    if (thread?.type === 'continue') {
      const stored = agent.script.forgets ? undefined : this.#stored.get(thread.previous_message_id ?? '');
      if (!stored) return send(404, threadError('thread_not_found'));
      if (JSON.stringify(plain(stored.head)) !== JSON.stringify(plain(head))) {
        return send(REFUSED, threadError('thread_fingerprint_mismatch'));
      }
      messages = [...(stored.items as Json[]), ...messages];
    }
    const at = mismatchIn(head, messages);
    const thinking = body.thinking as { block_binding?: { prefix_mismatch_behavior?: string } } | undefined;
    const drops = thinking?.block_binding?.prefix_mismatch_behavior === 'drop_block';
    const items = messages.map(asBlocks);
    agent.compare(head, items, at === null ? null : drops ? 'dropped' : 'refused');
    noteResults(agent, messages);
    if (at !== null && !drops) return send(REFUSED, bindingError(at));
    if (at !== null) this.reported++;
    const chain = chainOf(head, messages, messageText);
    const content: Json[] = [
      { type: 'thinking', thinking: `I look at step ${agent.requests}.`, signature: chain.at(-1) ?? '' },
      ...(agent.script.says === '' ? [] : [{ type: 'text', text: agent.script.says }]),
      ...agent.script.calls.map(({ name, args }) => ({
        type: 'tool_use',
        id: callId('toolu', agent),
        name,
        input: args,
      })),
    ];
    const id = this.#nextId('msg');
    const transformations =
      at === null
        ? {}
        : { input_transformations: [{ type: 'thinking_dropped', reason: 'prefix_binding_mismatch', path: at }] };
    const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 };
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model: body.model,
      content,
      stop_reason: 'end_turn',
      usage,
      ...transformations,
    };
    agent.answer = [{ role: 'assistant', content }];
    agent.answerId = id;
    if (thread) this.#stored.set(id, { items: [...messages, { role: 'assistant', content }], head, socket: null });
    if (body.stream !== true) return send(200, message);
    events(res, [
      { type: 'message_start', message: { ...message, content: [] } },
      ...content.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: startOf(block) },
        { type: 'content_block_delta', index, delta: deltaOf(block) },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ]);
  }

  // --- OpenAI

  /** Checks a request of the responses wire. Returns its items, and what the answer reports. */
  #read(
    body: Json,
    agent: Correspondent,
    before: Stored | undefined,
  ): { items: Json[]; head: unknown; removed: Json[] } {
    const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input as Json[]);
    const items = [...((before?.items ?? []) as Json[]), ...input];
    const head = [body.instructions ?? null, body.tools ?? null];
    const chain = chainOf(head, items, itemText);
    const removed = items.flatMap((item, i) =>
      item.type === 'reasoning' && item.encrypted_content !== chain[i]
        ? [{ type: 'reasoning', id: item.id, action: 'removed', reason: 'prefix_mismatch' }]
        : [],
    );
    agent.compare(
      head,
      items.map(itemText).map((text) => text ?? ''),
      removed.length > 0 && agent.checks ? 'dropped' : null,
    );
    for (const { type, call_id, output } of items) {
      if (type === 'function_call_output' && typeof output === 'string') agent.results.set(String(call_id), output);
    }
    return { items, head, removed: agent.checks ? removed : [] };
  }

  #respond(body: Json, agent: Correspondent, socket: WebSocket | null): Json | null {
    const previous = body.previous_response_id;
    const stored = typeof previous === 'string' ? this.#stored.get(previous) : undefined;
    const isKept = stored !== undefined && (stored.socket === null || stored.socket === socket);
    if (typeof previous === 'string' && (!isKept || agent.script.forgets)) return null;
    const { items, head, removed } = this.#read(body, agent, stored);
    if (removed.length > 0) this.reported++;
    const chain = chainOf(head, items, itemText);
    const hasReasoning = body.reasoning !== undefined;
    const id = this.#nextId('resp');
    const output: Json[] = [
      ...(hasReasoning
        ? [{ type: 'reasoning', id: this.#nextId('rs'), summary: [], encrypted_content: chain.at(-1) ?? '' }]
        : []),
      ...(agent.script.says === '' ? [] : [wordsOf(agent.script.says, this.#nextId('out'))]),
      ...agent.script.calls.map(({ name, args }) => ({
        type: 'function_call',
        id: this.#nextId('fc'),
        call_id: callId('call', agent),
        name,
        arguments: JSON.stringify(args),
        status: 'completed',
      })),
    ];
    agent.answer = output;
    agent.answerId = id;
    if (body.store !== false || socket) this.#stored.set(id, { items: [...items, ...output], head, socket });
    const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5 };
    return {
      id,
      object: 'response',
      status: 'completed',
      model: body.model,
      output,
      usage,
      ...(removed.length > 0 && { input_transformations: removed }),
    };
  }

  #responses(
    body: Json,
    agent: Correspondent,
    res: ServerResponse,
    send: (status: number, value: unknown) => void,
  ): unknown {
    const response = this.#respond(body, agent, null);
    if (response === null)
      return send(REFUSED, { error: { code: 'previous_response_not_found', message: 'not found' } });
    if (body.stream !== true) return send(200, response);
    events(res, eventsOf(response));
  }

  #connect(socket: WebSocket): void {
    socket.on('error', () => socket.terminate());
    socket.on('message', (data: Buffer) => {
      const body = JSON.parse(data.toString('utf8')) as Json;
      const agent = this.#agents.get(nameIn(body));
      if (!agent) return socket.close(1008, 'unknown agent');
      agent.requests++;
      const failure = agent.script.fails.shift();
      if (failure !== undefined) return socket.close(1011, `failure ${failure}`);
      if (agent.script.hangs) return;
      const response = this.#respond(body, agent, socket);
      const sent = response
        ? eventsOf(response)
        : [{ type: 'error', status: REFUSED, error: { code: 'previous_response_not_found' } }];
      for (const event of sent) socket.send(JSON.stringify(event));
    });
  }

  /** Nothing checks on this wire; changed items are only counted. */
  #chat(
    body: Json,
    agent: Correspondent,
    res: ServerResponse,
    send: (status: number, value: unknown) => void,
  ): unknown {
    const messages = body.messages as Json[];
    agent.compare([body.tools ?? null], messages, null);
    for (const { role, tool_call_id, content } of messages) {
      if (role === 'tool' && typeof content === 'string') agent.results.set(String(tool_call_id), content);
    }
    const calls = agent.script.calls.map(({ name, args }) => ({
      id: callId('call', agent),
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }));
    const message = { role: 'assistant', content: agent.script.says, ...(calls.length > 0 && { tool_calls: calls }) };
    agent.answer = [message];
    const usage = { prompt_tokens: 10, completion_tokens: 5 };
    const id = this.#nextId('chatcmpl');
    agent.answerId = id;
    if (body.stream !== true)
      return send(200, { id, model: body.model, choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const choices of [[{ index: 0, delta: message }], [{ index: 0, delta: {}, finish_reason: 'stop' }]]) {
      res.write(`data: ${JSON.stringify({ id, model: body.model, choices })}\n\n`);
    }
    res.end('data: [DONE]\n\n');
  }
}

function nameIn(body: Json): string {
  const metadata = body.metadata as { user_id?: string } | undefined;
  return String(metadata?.user_id ?? body.prompt_cache_key ?? body.user ?? '');
}

function callId(kind: string, agent: Correspondent): string {
  return `${kind}_${agent.id}_${++agent.calls}`;
}

function noteResults(agent: Correspondent, messages: readonly Json[]): void {
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const block of content as Json[]) {
      if (block.type === 'tool_result' && typeof block.content === 'string')
        agent.results.set(String(block.tool_use_id), block.content);
    }
  }
}

function asBlocks({ role, content }: Json): Json {
  const blocks = (typeof content === 'string' ? [{ type: 'text', text: content }] : content) as Json[];
  return { role, content: blocks.filter(({ type }) => type !== 'thinking') };
}

function messageText(message: unknown): string {
  return JSON.stringify(plain(asBlocks(message as Json)));
}

/** What an item means, in whichever spelling a client sends it back; `null`: the model's reasoning. */
function itemText(item: unknown): string | null {
  const { type = 'message', role, content, call_id, name, arguments: args, output } = item as Json;
  if (type === 'reasoning') return null;
  if (type === 'function_call') return JSON.stringify([type, call_id, name, args]);
  if (type === 'function_call_output') return JSON.stringify([type, call_id, output]);
  if (type !== 'message') return JSON.stringify(plain(item));
  const parts = Array.isArray(content)
    ? (content as Json[]).map(({ text, ...rest }) => text ?? plain(rest))
    : [content];
  return JSON.stringify([type, role, parts]);
}

/** Where the first thinking block stands that was made from something else, or `null`. */
function mismatchIn(head: unknown, messages: readonly Json[]): string | null {
  const chain = chainOf(head, messages, messageText);
  for (const [i, { role, content }] of messages.entries()) {
    if (role !== 'assistant' || !Array.isArray(content)) continue;
    const at = (content as Json[]).findIndex(({ type, signature }) => type === 'thinking' && signature !== chain[i]);
    if (at >= 0) return `messages.${i}.content.${at}`;
  }
  return null;
}

function errorOf(type: string, message: string): Json {
  return { type: 'error', error: { type, message } };
}

function bindingError(at: string): Json {
  const words =
    'Invalid `signature` in `thinking` block. The block is bound to a different conversation than the one sent.';
  return errorOf('invalid_request_error', `${at}: ${words} Content before this block differs, first at ${at}`);
}

function threadError(code: string): Json {
  return { type: 'error', error: { type: 'invalid_request_error', message: code, details: { error_code: code } } };
}

function wordsOf(text: string, id: string): Json {
  return {
    type: 'message',
    id,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}

function eventsOf(response: Json): Json[] {
  const items = (response.output as Json[]).map((item, i) => ({
    type: 'response.output_item.done',
    output_index: i,
    item,
  }));
  return [
    { type: 'response.created', response: { ...response, output: [] } },
    ...items,
    { type: 'response.completed', response },
  ];
}

function events(res: ServerResponse, list: readonly Json[]): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of list) res.write(`event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`);
  res.end();
}

function startOf(block: Json): Json {
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
}

function deltaOf(block: Json): Json {
  if (block.type === 'thinking') return { type: 'signature_delta', signature: block.signature };
  if (block.type === 'text') return { type: 'text_delta', text: block.text };
  return { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
}

/** A name for a run of the kit that differs from all others. */
export function runName(seed: number, index: number): string {
  return `s${seed}-${digest(String(seed), String(index)).slice(0, 6)}-${index}`;
}
