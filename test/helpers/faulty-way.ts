import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterwards } from './afterwards.ts';

/** A way to the PostgreSQL of the tests that can be cut. */
export interface FaultyWay {
  readonly url: string;
  /** How many connections were ended for what they said. */
  readonly refused: number;
  /** Ends all connections and refuses new ones. */
  cut(): void;
  mend(): void;
  /** New connections lead to another server. */
  lead(url: string): void;
  /** Ends each connection that says this. */
  refuse(word: string): void;
}

function parse(url: string): URL {
  return new URL(url.replace('postgres://pruner@/', 'postgres://pruner@localhost/'));
}

function socketOf({ searchParams }: URL): string {
  return join(searchParams.get('host') ?? '', '.s.PGSQL.5432');
}

/** Opens a port in front of the socket that a URL of the tests leads to. */
export async function faultyWay(url: string): Promise<FaultyWay> {
  const parsed = parse(url);
  let socketPath = socketOf(parsed);
  const sockets = new Set<Socket>();
  let isCut = false;
  let refusedWord: string | null = null;
  let refused = 0;
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const upstream = connect(socketPath);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (data) => {
      if (refusedWord !== null && data.includes(refusedWord)) {
        refused++;
        client.destroy();
      } else upstream.write(data);
    });
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  afterwards(() => {
    cut();
    server.close();
  });
  return {
    url: `postgres://pruner@127.0.0.1:${(server.address() as AddressInfo).port}${parsed.pathname}`,
    get refused() {
      return refused;
    },
    cut,
    mend: () => {
      isCut = false;
    },
    lead: (to) => {
      socketPath = socketOf(parse(to));
    },
    refuse: (word) => {
      refusedWord = word;
    },
  };
}
