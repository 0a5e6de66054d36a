import type { Response } from 'express';

/** The JSON text of an answer. */
export function jsonBytes(json: object): Buffer {
  // not res.json: its ETag would hash megabytes that are never cached
  return Buffer.from(JSON.stringify(json), 'utf8');
}

export function writeJson(res: Response, status: number, body: Buffer): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Content-Length', body.length);
  res.end(body);
}

/** Details of a failed body read from an express error; `status` is 500 for any other error. */
export function readFailure(cause: unknown): { readonly type: unknown; readonly status: number } {
  if (!(cause instanceof Error)) return { type: undefined, status: 500 };
  const type = 'type' in cause ? cause.type : undefined;
  const status = 'status' in cause && typeof cause.status === 'number' ? cause.status : 500;
  return { type, status };
}
