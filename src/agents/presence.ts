import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Names the socket at which a runner listens for the MCP server of its run. */
export const PRESENCE_VARIABLE = 'MCP_PRUNER_RUN_SOCKET';

/** Said before a server ends as it should; without it a closed connection means that it died. */
const FAREWELL = 'bye';

export interface PresenceEvents {
  /** A server of this run is there. */
  readonly onUp: () => void;
  /** The last one that was there has died. */
  readonly onLost: () => void;
}

/**
 * Listens for the MCP server of a run. The agent starts and ends it, so that nobody else knows its process; the open
 * connection tells that it lives.
 *
 * @param path - of a socket that does not exist yet
 * @returns what ends listening
 */
export async function listenForPresence(path: string, { onUp, onLost }: PresenceEvents): Promise<() => void> {
  const alive = new Set<Socket>();
  const server = createServer((socket) => {
    let said = '';
    alive.add(socket);
    socket.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(0, FAREWELL.length);
    });
    socket.on('error', () => {}); // closes as well
    socket.on('close', () => {
      alive.delete(socket);
      if (said !== FAREWELL && alive.size === 0) onLost();
    });
    onUp();
  });
  server.on('error', () => {}); // the run goes on without this knowledge
  server.listen(path);
  await once(server, 'listening');
  return () => {
    server.close();
    for (const socket of alive) socket.removeAllListeners('close').destroy();
  };
}

/**
 * Tells the runner that this server lives, for as long as it does. Never fails: a runner that is not there needs no
 * news.
 *
 * @returns what says farewell
 */
export function announcePresence(path: string): () => void {
  const socket = connect(path);
  socket.on('error', () => {}).unref();
  return () => {
    socket.end(FAREWELL);
  };
}
