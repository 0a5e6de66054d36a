// The model's stand-in: answers at once, streams on request, and says how much of a conversation's last body it saw again.
import { createServer } from 'node:http';

const answer = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 0,
    model: 'bench',
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
  }),
);
const lastBodies = new Map();

function commonPrefix(a, b) {
  let low = 0;
  let high = Math.min(a.length, b.length);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (a.compare(b, 0, middle, 0, middle) === 0) low = middle;
    else high = middle - 1;
  }
  return low;
}

const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => {
  const chunks = [];
  let size = 0;
  let clientLeft = false;
  res.on('close', () => {
    clientLeft = !res.writableFinished;
    const at = req.headers['x-abort-report'];
    if (clientLeft && at) aborted.set(at, process.hrtime.bigint());
  });
  req.on('data', (chunk) => {
    chunks.push(chunk);
    size += chunk.length;
  });
  req.on('end', () => {
    if (req.url.startsWith('/aborted/')) {
      res.end(String(aborted.get(req.url.slice(9)) ?? ''));
      return;
    }
    const conversation = req.headers['x-conversation'];
    if (conversation) {
      const body = Buffer.concat(chunks, size);
      const last = lastBodies.get(conversation);
      // What follows the messages (`]…}`) is no part of the prefix.
      if (last) res.setHeader('x-prefix', commonPrefix(last, body) / Math.max(1, last.lastIndexOf(0x5d)));
      lastBodies.set(conversation, body);
    }
    res.setHeader('x-received', size);
    const events = Number(req.headers['x-events'] ?? 0);
    if (events === 0) {
      res.setHeader('content-type', 'application/json');
      res.setHeader('content-length', answer.length);
      res.end(answer);
      return;
    }
    const gapMs = Number(req.headers['x-gap-ms'] ?? 10);
    res.setHeader('content-type', 'text/event-stream');
    let sent = 0;
    const next = () => {
      if (res.destroyed) return;
      if (sent === events) {
        res.end('data: [DONE]\n\n');
        return;
      }
      sent++;
      res.write(`data: {"id":"x","sentAt":"${process.hrtime.bigint()}","choices":[{"delta":{"content":"tok"}}]}\n\n`);
      setTimeout(next, gapMs);
    };
    next();
  });
  req.on('error', () => {});
});
const aborted = new Map();
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.stdout.write('ready\n'));
