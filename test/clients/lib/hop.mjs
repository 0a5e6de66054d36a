import { request } from 'node:http';
import { listen, readAll } from './http.mjs';

/** The header by which a request seen here is found again upstream. */
export const HOP_HEADER = 'x-clients-hop';

/**
 * A relay between client and proxy that keeps what the client sent and what it got, and changes nothing but one header. `Host` stays
 * as it came, since signatures of AWS cover it.
 *
 * @param {string} target - origin to relay to, without a path
 * @param {() => Promise<void>} [before] - called before each request is relayed
 * @returns {Promise<{ url: string, seen: Exchange[], close: () => Promise<void> }>}
 *
 * @typedef {{ id: string, method: string, path: string, headers: Record<string, unknown>, sent: string, status: number,
 *   answerHeaders: Record<string, unknown>, answer: Buffer, clientLeft: boolean }} Exchange
 */
export async function startHop(target, before = async () => {}) {
  /** @type {Exchange[]} */
  const seen = [];
  const server = await listen(async (req, res) => {
    const body = await readAll(req);
    await before();
    const exchange = {
      id: String(seen.length + 1),
      method: req.method ?? '',
      path: req.url ?? '',
      headers: { ...req.headers },
      sent: body.toString('utf8'),
      status: 0,
      answerHeaders: {},
      answer: Buffer.alloc(0),
      clientLeft: false,
    };
    seen.push(exchange);
    const headers = { ...req.headers, [HOP_HEADER]: exchange.id };
    delete headers['transfer-encoding'];
    if (body.length > 0) headers['content-length'] = String(body.length);
    const answer = await new Promise((resolve, reject) => {
      const out = request(new URL(exchange.path, target), { method: exchange.method, headers });
      out.once('response', resolve);
      out.once('error', reject);
      res.once('close', () => {
        exchange.clientLeft = !res.writableFinished;
        out.destroy();
      });
      out.end(body);
    });
    exchange.status = answer.statusCode ?? 0;
    exchange.answerHeaders = { ...answer.headers };
    res.writeHead(exchange.status, answer.headers);
    for await (const chunk of answer) {
      exchange.answer = Buffer.concat([exchange.answer, chunk]);
      res.write(chunk);
    }
    res.end();
  });
  return { url: server.url, seen, close: server.close };
}
