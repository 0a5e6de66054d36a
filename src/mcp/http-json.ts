import type { Response } from 'express';
import { jsonPieces } from './json-pieces.ts';
import type { Reply } from './json-rpc.ts';

export function jsonBytes(json: object): Buffer {
  // not res.json, whose ETag would hash megabytes that are never cached
  return Buffer.from(JSON.stringify(json), 'utf8');
}

/** Serialises a JSON-RPC answer, whose ids may be integers of any length. */
export function replyBytes(reply: Reply | readonly Reply[]): Buffer {
  const hasLongId = [reply].flat().some(({ id }) => typeof id === 'bigint');
  return hasLongId ? Buffer.from([...jsonPieces(reply)].join(''), 'utf8') : jsonBytes(reply);
}

export function writeJson(res: Response, status: number, body: Buffer): void {
  writeBody(res, status, 'application/json', body);
}

/** Writes a message as the only event of a stream. The JSON text contains no line breaks. */
export function writeEvent(res: Response, status: number, json: Buffer): void {
  const body = Buffer.concat([Buffer.from('event: message\ndata: '), json, Buffer.from('\n\n')]);
  res.setHeader('Cache-Control', 'no-cache, no-transform');
  writeBody(res, status, 'text/event-stream', body);
}

function writeBody(res: Response, status: number, contentType: string, body: Buffer): void {
  res.statusCode = status;
  res.setHeader('Content-Type', contentType);
  res.setHeader('Content-Length', body.length);
  res.end(body);
}

/** Details of a body-reading failure from an express error; `status` is 500 for other errors. */
export function readFailure(cause: unknown): { readonly type: unknown; readonly status: number } {
  if (!(cause instanceof Error)) return { type: undefined, status: 500 };
  const type = 'type' in cause ? cause.type : undefined;
  const status = 'status' in cause && typeof cause.status === 'number' ? cause.status : 500;
  return { type, status };
}
