import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

/** A port in front of the socket of a PostgreSQL, which can be taken away or led elsewhere. */
export class Way {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#lead(client));
  #folder: string;
  #isCut = false;
  #isSilent = false;

  /** @param folder - where the socket is */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `postgres://pruner@127.0.0.1:${(this.#server.address() as AddressInfo).port}/postgres`;
  }

  /** Ends all connections and refuses new ones. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nothing arrives any more, and nobody is told: a cable that was pulled. */
  silence(): void {
    this.#isSilent = true;
  }

  /** As it was, for new connections; those that were silent stay so until somebody gives them up. */
  mend(folder = this.#folder): void {
    this.#folder = folder;
    this.#isCut = false;
    this.#isSilent = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #lead(client: Socket): void {
    if (this.#isCut) return void client.destroy();
    this.#sockets.add(client);
    client.on('error', () => undefined); // its end follows
    if (this.#isSilent) return void client.once('close', () => this.#sockets.delete(client));
    const server = connect(join(this.#folder, '.s.PGSQL.5432'));
    this.#sockets.add(server);
    let isLost = false;
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (data) => {
        isLost ||= this.#isSilent;
        if (!isLost) to.write(data);
      });
      from.on('error', () => undefined); // its end follows
      from.once('close', () => {
        this.#sockets.delete(from);
        if (!isLost && !this.#isSilent) to.destroy();
      });
    };
    pass(client, server);
    pass(server, client);
  }
}
