import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import express from 'express';
import { onTestFinished } from 'vitest';
import { localGuard } from '../../../src/mcp/guard.ts';
import { INSTRUCTIONS } from '../../../src/mcp/initialize.ts';
import type { JsonObject } from '../../../src/mcp/json-rpc.ts';
import { rpcRouter } from '../../../src/mcp/rpc-routes.ts';
import { type CallRecord, McpServer, type McpServerOptions } from '../../../src/mcp/server.ts';
import { ToolRegistry } from '../../../src/mcp/tool.ts';
import { healthReport, healthTool } from '../../../src/mcp/tools/health.ts';
import { pruneTextTool } from '../../../src/mcp/tools/prune-text.ts';
import { recoverTextTool } from '../../../src/mcp/tools/recover-text.ts';
import { FakePruner } from './fake-pruner.ts';

export const NOW_MS = Date.parse('2026-02-26T12:00:00.000Z');

/** The HTTP server's tools over a fake pruner, wired as the app wires them. */
export function buildServer(pruner: FakePruner, options: Partial<McpServerOptions> = {}): McpServer {
  const health = () => healthReport('0.1.0', { nowMs: () => NOW_MS }, { store: { state: 'ok' } });
  const registry = new ToolRegistry([pruneTextTool(pruner), recoverTextTool(pruner), healthTool(health)]);
  return new McpServer({
    registry,
    faces: ['rpc'],
    version: '0.1.0',
    instructions: INSTRUCTIONS,
    ...options,
    methods: { health, ...options.methods },
  });
}

export interface RpcServer {
  readonly port: number;
  readonly url: URL;
  readonly pruner: FakePruner;
  readonly calls: CallRecord[];
  readonly faults: unknown[];
  /** Bytes that the server has read so far. */
  readonly bytesRead: () => number;
}

/** A real express app on a free loopback port; ends with the test. */
export async function startRpcServer(
  options: {
    maxBodyBytes?: number;
    maxUnreadBytes?: number;
    maxUploadBytes?: number;
    server?: Partial<McpServerOptions>;
  } = {},
): Promise<RpcServer> {
  const pruner = new FakePruner();
  const calls: CallRecord[] = [];
  const faults: unknown[] = [];
  const server = buildServer(pruner, { onCall: (call) => calls.push(call), ...options.server });
  const app = express();
  const sockets = new Set<Socket>();
  app.use((req, _res, next) => {
    sockets.add(req.socket);
    next();
  });
  const maxBodyBytes = options.maxBodyBytes ?? 64 * 1024 * 1024;
  const onFailure = (_reason: string, fault: unknown): void => {
    faults.push(fault);
  };
  app.use(
    '/rpc',
    localGuard({ allowedHosts: [] }),
    rpcRouter({
      server,
      maxBodyBytes,
      maxUnreadBytes: options.maxUnreadBytes ?? 1e8,
      maxUploadBytes: options.maxUploadBytes ?? 1e9,
      onFailure,
    }),
  );
  const port = await listen(app);
  const bytesRead = (): number => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0);
  return { port, url: new URL(`http://127.0.0.1:${port}/rpc`), pruner, calls, faults, bytesRead };
}

/** Serves an express app until the test ends. */
export async function listen(app: express.Express): Promise<number> {
  const server = http.createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return port;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** One HTTP exchange with exactly these headers, as curl would send it. */
export function send(
  port: number,
  body: string | Buffer | null,
  {
    method = 'POST',
    path = '/rpc',
    headers = {},
  }: { method?: string; path?: string; headers?: http.OutgoingHttpHeaders } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const contentType = body === null ? {} : { 'content-type': 'application/json' };
    const req = http.request(
      { host: '127.0.0.1', port, path, method, agent: false, headers: { ...contentType, ...headers } },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString('utf8') });
        });
      },
    );
    req.on('error', reject);
    req.end(body ?? undefined);
  });
}

export interface Answer {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
}

/** Sends one JSON value and gives back the JSON answer, whatever its HTTP status. */
export async function post(port: number, message: unknown): Promise<Answer> {
  return JSON.parse((await send(port, JSON.stringify(message))).body) as Answer;
}

/** Calls a method by name. */
export function request(port: number, method: string, params?: unknown, id: unknown = 1): Promise<Answer> {
  return post(port, { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
}

/** Calls a tool. */
export function callTool(port: number, name: string, args: unknown, id: unknown = 1): Promise<Answer> {
  return request(port, 'tools/call', { name, arguments: args }, id);
}

/** The JSON inside `content[0].text` of a tool's result. */
export function contentOf(answer: Answer): JsonObject {
  const content = answer.result?.content as readonly { type: string; text: string }[] | undefined;
  return JSON.parse(content?.[0]?.text ?? 'null') as JsonObject;
}

/** Valid arguments for `prune_text`, those of docs/contract.md unless told otherwise. */
export function pruneArgs(changes: { text?: string; goal_hint?: string; options?: object } = {}): JsonObject {
  const options = {
    max_prune_ratio: 0.75,
    min_keep_lines: 1,
    timeout_ms: 1500,
    annotate_lines: true,
    include_markers: true,
    ...changes.options,
  };
  return { text: 'L1\nL2\nL3\nL4', goal_hint: 'garder L1', source_type: 'docs', ...changes, options };
}
