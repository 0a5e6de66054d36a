import { once } from 'node:events';
import { request } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { listen, readAll } from './http.mjs';

/** The header by which a request seen here is found again upstream. */
export const HOP_HEADER = 'x-clients-hop';

/**
 * A relay between client and proxy that keeps what the client sent and what it got (but for frames of WebSockets), and changes nothing
 * but one header. `Host` stays as it came, since signatures of AWS cover it.
 *
 * @param {() => Promise<{ origin: string, headers?: Record<string, string> }>} route - called before each request or frame is relayed:
 *   where to, and with which headers besides
 * @returns {Promise<{ url: string, seen: Exchange[], frames: { sent: string }[], close: () => Promise<void> }>}
 *
 * @typedef {{ id: string, method: string, path: string, headers: Record<string, unknown>, sent: string, status: number,
 *   answerHeaders: Record<string, unknown>, answer: Buffer, clientLeft: boolean }} Exchange
 */
export async function startHop(route) {
  /** @type {Exchange[]} */
  const seen = [];
  const frames = [];
  const server = await listen(async (req, res) => {
    const body = await readAll(req);
    const { origin, headers: further } = await route();
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
    const headers = { ...req.headers, ...further, [HOP_HEADER]: exchange.id };
    delete headers['transfer-encoding'];
    if (body.length > 0) headers['content-length'] = String(body.length);
    const answer = await new Promise((resolve) => {
      const out = request(new URL(exchange.path, origin), { method: exchange.method, headers });
      out.once('response', resolve);
      // like a proxy that was killed
      out.once('error', () => res.destroy());
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
  const sockets = new WebSocketServer({ server: server.server });
  sockets.on('connection', (client, req) => relayFrames(client, req, route, frames));
  return { url: server.url, seen, frames, close: server.close };
}

/** Relays one connection. When the other side has gone, or is another one now, the client must connect again. */
function relayFrames(client, { url, headers: sent }, route, frames) {
  const own = Object.entries(sent).filter(([name]) => !/^(?:host|upgrade|connection|sec-websocket-.*)$/.test(name));
  const opened = route().then(async ({ origin, headers }) => {
    const out = new WebSocket(new URL(url, origin.replace(/^http/, 'ws')), {
      headers: { ...Object.fromEntries(own), ...headers },
    });
    out.on('message', (data, isBinary) => client.send(data, { binary: isBinary }));
    out.on('error', () => client.terminate()).on('close', () => client.close());
    await once(out, 'open');
    return out;
  });
  opened.catch(() => client.terminate());
  client.on('error', () => client.terminate());
  client.on('close', () => void opened.then((out) => out.close()).catch(() => {}));
  client.on('message', async (data, isBinary) => {
    frames.push({ sent: data.toString('utf8') });
    const out = await opened.catch(() => null);
    const { origin } = await route();
    if (out?.readyState === WebSocket.OPEN && out.url.startsWith(origin.replace(/^http/, 'ws')))
      out.send(data, { binary: isBinary });
    else client.terminate();
  });
}
