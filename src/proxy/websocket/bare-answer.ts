import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers a request whose connection was taken from the server because it asked for another protocol; then it closes. */
export function bareAnswer(req: IncomingMessage, socket: Socket): ServerResponse {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.on('error', () => {}); // a client that left
  res.assignSocket(socket);
  res.once('finish', () => {
    res.detachSocket(socket);
    socket.end();
  });
  socket.once('close', () => res.destroy());
  return res;
}
