import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Serves a request whose `Upgrade` header names an unsupported protocol (`h2c`) as an ordinary request. Node detaches
 * such connections because the server has an upgrade listener; they are returned to the server with that header removed
 * from the request.
 *
 * @param head - bytes received after the request's headers
 */
export function serveAsPlainHttp(server: Server, req: IncomingMessage, socket: Socket, head: Buffer): void {
  const { method = 'GET', url = '/', httpVersion, rawHeaders } = req;
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'upgrade') text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
