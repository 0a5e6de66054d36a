import { crc32 } from 'node:zlib';
import { HOP_HEADER } from './hop.mjs';
import { listen, readAll } from './http.mjs';
import { textOf } from './wire.mjs';
import { wireOf } from './wires.mjs';

/** Where each fact of the project stands in a tool result or an attached file. */
const FACT_PATTERNS = {
  factor: /graceFactor = (0\.\d+)/,
  code: /checksum mismatch, code (LX-\d+)/,
  release: /loaded release (kestrel-\d+)/,
};

/** The one line that the model ends with; a fact that did not arrive shows as `?`. */
export function finalAnswer(nonce, facts) {
  return `Result ${nonce}: factor=${facts.factor ?? '?'} code=${facts.code ?? '?'} release=${facts.release ?? '?'}`;
}

/** Finds the facts in what tools and attached files say, as it arrived here. */
function factsIn(messages) {
  const text = messages
    .filter((message) => message.role === 'tool' || message.role === 'user')
    .map(textOf)
    .join('\n');
  return Object.fromEntries(Object.entries(FACT_PATTERNS).map(([name, pattern]) => [name, pattern.exec(text)?.[1]]));
}

/**
 * What the model says next. The place in the script follows from the conversation alone: one step for each tool result and each
 * answer.
 *
 * @param {{ nonce: string, steps: readonly string[], calls: Record<string, Function>, work: string }} play
 * @returns {(conversation: { tools: object[], messages: object[] }) => { step: string, text: string, calls: object[] }}
 */
export function scriptOf({ nonce, steps, calls, work }) {
  const isDone = (message) =>
    message.role === 'tool' || (message.role === 'assistant' && textOf(message).includes(nonce));
  return ({ tools, messages }) => {
    if (tools.length === 0) return { step: 'title', text: 'Billing task', calls: [] };
    const step = steps[messages.filter(isDone).length] ?? 'answer';
    if (step === 'answer') return { step, text: finalAnswer(nonce, factsIn(messages)), calls: [] };
    const call = calls[step]?.(tools, { messages, work });
    if (call === undefined) throw new Error(`no such step: ${step}`);
    return { step, text: `Next: ${step}.`, calls: [{ id: `call_${nonce}_${step}`, ...call }] };
  };
}

/**
 * The model of the tests, on all wires: it plays a script of tool calls on the client's own tools, then answers from what it was sent.
 *
 * @param {{ nonce: string, steps: readonly string[], calls: Record<string, (tools: object[], context: object) =>
 *   { name: string, args: object }>, work: string, port?: number }} play - `steps` names a call each, or `answer`
 * @returns {Promise<{ url: string, seen: Received[], close: () => Promise<void> }>}
 *
 * @typedef {{ hop: string, method: string, path: string, headers: Record<string, unknown>, body: string, answer: string,
 *   step: string }} Received
 */
export async function startUpstream({ nonce, port = 0, ...play }) {
  /** @type {Received[]} */
  const seen = [];

  const next = scriptOf({ nonce, ...play });

  const server = await listen(async (req, res) => {
    const body = (await readAll(req)).toString('utf8');
    const received = {
      hop: String(req.headers[HOP_HEADER] ?? ''),
      method: req.method ?? '',
      path: req.url ?? '',
      headers: { ...req.headers },
      body,
      answer: '',
      step: '',
    };
    seen.push(received);
    const reply = (status, type, text) => {
      received.answer = text;
      res.writeHead(status, { 'content-type': type });
      res.end(text);
    };
    const [path = ''] = received.path.split('?');
    if (path.endsWith('/models')) {
      const model = { id: 'scripted', object: 'model', created: 1_700_000_000, owned_by: 'tests' };
      return reply(200, 'application/json', JSON.stringify({ object: 'list', data: [model] }));
    }
    if (path.endsWith(':countTokens')) return reply(200, 'application/json', JSON.stringify({ totalTokens: 1000 }));
    if (path.endsWith('/count_tokens')) return reply(200, 'application/json', JSON.stringify({ input_tokens: 1000 }));
    const wire = wireOf(path);
    if (wire === undefined || received.method !== 'POST') {
      return reply(404, 'application/json', JSON.stringify({ error: { message: 'not here', type: 'not_found' } }));
    }
    const parsed = JSON.parse(body);
    const { step, ...said } = next(wire.read(parsed));
    received.step = step;
    const turn = { id: `${nonce}-${seen.length}`, model: String(parsed.model ?? 'scripted'), ...said };
    const streams = wire.streams?.(path) ?? parsed.stream === true;
    if (!streams) return reply(200, 'application/json', JSON.stringify(wire.plain(turn)));
    const framed = path.endsWith('/invoke-with-response-stream');
    const type = framed ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
    res.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache' });
    for (const event of wire.events(turn, parsed)) {
      const bytes = framed ? chunkFrame(event) : Buffer.from(event);
      received.answer += bytes.toString('utf8');
      res.write(bytes);
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.end();
  }, port);
  return { url: server.url, seen, close: server.close };
}

/** An event of Anthropic's as Bedrock streams it: in base64, in a frame `chunk` of AWS's event stream. */
function chunkFrame(event) {
  const data = event.slice(event.indexOf('data: ') + 6).trim();
  const payload = Buffer.from(JSON.stringify({ bytes: Buffer.from(data).toString('base64') }));
  const headers = Buffer.concat(
    [
      [':event-type', 'chunk'],
      [':content-type', 'application/json'],
      [':message-type', 'event'],
    ].map(([name, value]) =>
      Buffer.concat([
        Buffer.from([name.length]),
        Buffer.from(name),
        Buffer.from([7, 0, value.length]),
        Buffer.from(value),
      ]),
    ),
  );
  const number = (value) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const prelude = Buffer.concat([number(16 + headers.length + payload.length), number(headers.length)]);
  const message = Buffer.concat([prelude, number(crc32(prelude)), headers, payload]);
  return Buffer.concat([message, number(crc32(message))]);
}
