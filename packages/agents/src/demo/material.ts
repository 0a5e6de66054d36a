import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { driverFile } from 'mcp-pruner/store/sqlite/driver.ts';

export interface Local {
  readonly url: string;
  close(): Promise<void>;
}

export async function serveLocally(handler: (req: IncomingMessage, res: ServerResponse) => void): Promise<Local> {
  const server: Server = createServer({ keepAliveTimeout: 0 }, handler); // on a busy machine, pauses may be long
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Order {
  readonly id: number;
  readonly customer: { readonly name: string } | null;
}

const REQUESTS = 700;
/** Id of the order that was imported without a customer. */
const BROKEN = 417;

/** Produces a real log: a small service gets 700 requests, and one fails with a genuine stack trace. */
export async function makeServiceLog(clock: Clock): Promise<string> {
  const lines: string[] = [];
  const note = (level: string, text: string): void => {
    lines.push(`${new Date(clock.nowMs()).toISOString()} ${level.padEnd(5)} ${text}`);
  };
  const orders: Order[] = Array.from({ length: REQUESTS }, (_, id) => ({
    id,
    customer: id === BROKEN ? null : { name: `customer-${id % 23}` },
  }));
  const service = await serveLocally((req, res) => {
    const startedAt = performance.now();
    const id = Number((req.url ?? '').split('/').at(-1));
    try {
      res.end(invoice(orders, id));
      note('INFO', `GET ${req.url} 200 ${(performance.now() - startedAt).toFixed(2)}ms`);
    } catch (cause) {
      res.statusCode = 500;
      res.end();
      note('ERROR', `GET ${req.url} 500 ${cause instanceof Error ? cause.stack : String(cause)}`);
    }
  });
  note('INFO', `orders service listening, ${orders.length} orders loaded`);
  for (let id = 0; id < REQUESTS; id++) {
    if (id % 90 === 60)
      note('WARN', `cache: ${id % 7} entries evicted, hit rate ${(0.6 + (id % 30) / 100).toFixed(2)}`);
    await (await fetch(`${service.url}/v1/invoices/${id}`)).arrayBuffer();
  }
  note('INFO', 'orders service stopped');
  await service.close();
  return `${lines.join('\n')}\n`;
}

/** Fails on the order without a customer, whose data violates its type. */
function invoice(orders: readonly Order[], id: number): string {
  const { customer } = orders[id] ?? { customer: null };
  return `invoice for ${(customer as { readonly name: string }).name}`;
}

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A real C++ source file from SQLite's driver, which is installed with this product. */
export function realSourceFile(name: 'database' | 'statement'): SourceFile {
  const path = `src/objects/${name}.cpp`;
  return { path, text: readFileSync(join(dirname(driverFile()), '..', path), 'utf8') };
}
