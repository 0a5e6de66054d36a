import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers an upgrade request on its detached connection, and closes it. */
export function bareAnswer(req: IncomingMessage, socket: Socket): ServerResponse {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  res.on('error', () => {}); // client disconnected
  res.assignSocket(socket);
  res.once('finish', () => {
    res.detachSocket(socket);
    socket.end();
  });
  socket.once('close', () => res.destroy());
  return res;
}
