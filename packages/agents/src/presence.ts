import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Variable with the socket on which a runner listens for its run's MCP server. */
export const PRESENCE_VARIABLE = 'MCP_PRUNER_RUN_SOCKET';

/** Sent before a regular exit; if the connection closes without it, the server has crashed. */
const FAREWELL = 'bye';

interface PresenceEvents {
  /** Called when a server of this run connects. */
  readonly onUp: () => void;
  /** Called when the last connected server has crashed. */
  readonly onLost: () => void;
}

/**
 * Listens for the MCP server of a run. The agent starts and stops the server, so only the open connection shows that it
 * is alive.
 *
 * @param path - path of a socket that does not exist yet
 * @returns a function that stops listening
 */
export async function listenForPresence(path: string, { onUp, onLost }: PresenceEvents): Promise<() => void> {
  const alive = new Set<Socket>();
  const server = createServer((socket) => {
    let received = '';
    alive.add(socket);
    socket.setEncoding('utf8').on('data', (text: string) => {
      received = (received + text).slice(0, FAREWELL.length);
    });
    socket.on('error', () => {}); // 'close' follows
    socket.on('close', () => {
      alive.delete(socket);
      if (received !== FAREWELL && alive.size === 0) onLost();
    });
    onUp();
  });
  server.on('error', () => {}); // the run continues without this information
  server.listen(path);
  await once(server, 'listening');
  return () => {
    server.close();
    for (const socket of alive) socket.removeAllListeners('close').destroy();
  };
}

/**
 * Connects to the runner for the lifetime of this server, to show that it is alive. Never fails, even without a runner.
 *
 * @returns a function that announces a regular exit
 */
export function announcePresence(path: string): () => void {
  const socket = connect(path);
  socket.on('error', () => {}).unref();
  return () => {
    socket.end(FAREWELL);
  };
}
