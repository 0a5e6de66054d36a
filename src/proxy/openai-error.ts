import type { ServerResponse } from 'node:http';

/** Answers in the shape that OpenAI's clients read an error from. */
export function sendError(res: ServerResponse, status: number, code: string, message: string): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const body = Buffer.from(JSON.stringify({ error: { message, type: 'mcp_pruner_error', param: null, code } }));
  res.statusCode = status;
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', body.length);
  res.end(body);
}
