import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Serves a request that offers a protocol which is not taken up (`h2c`) as the ordinary one that it also is. With a
 * listener for upgrades the server hands over every connection that offers one, so that it gets this one back, and the
 * request without the offer.
 *
 * @param head - what came behind the request's fields
 */
export function serveOrdinary(server: Server, req: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method = 'GET', url = '/', httpVersion, rawHeaders } = req;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'upgrade') text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
