import express, { type Request, type RequestHandler, type Response } from 'express';

/** Limited because processing a body may take about ten times its size in memory. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** Bodies up to this size are always accepted, because `recover_text` calls are small. */
const SMALL_BYTES = 64 * 1024;

interface BoundedBodyOptions {
  /** Maximum body size after decompression; larger bodies fail with `entity.too.large`. */
  readonly maxBodyBytes: number;
  /** Maximum number of bytes of all bodies held at once; default: 64 MiB or twice the largest body. */
  readonly maxHeldBytes?: number | undefined;
  /** Answers a request whose body exceeds the budget; the connection is closed afterwards. */
  readonly refuse: (res: Response) => void;
}

/**
 * Reads whole bodies into `req.body` (a `Buffer`, decompressed) and limits the bytes held at once over all clients.
 * Each body counts until its answer is sent. Small bodies, and a body received alone, are never refused.
 */
export function boundedBody({ maxBodyBytes, maxHeldBytes, refuse }: BoundedBodyOptions): RequestHandler[] {
  const maxHeld = maxHeldBytes ?? Math.max(MAX_HELD_BYTES, 2 * maxBodyBytes);
  const ownBytes = new WeakMap<Request, number>();
  let held = 0;
  const hasRoom = (req: Request, bytes: number): boolean => {
    const own = (ownBytes.get(req) ?? 0) + bytes;
    ownBytes.set(req, own);
    held += bytes;
    return held <= maxHeld || own === held || own <= SMALL_BYTES;
  };
  const turnAway = (req: Request, res: Response): void => {
    if (res.headersSent) return;
    res.setHeader('Connection', 'close');
    res.once('finish', () => req.destroy());
    refuse(res);
  };
  const received: RequestHandler = (req, res, next) => {
    req.on('data', (chunk: Buffer) => {
      if (!res.closed && !hasRoom(req, chunk.length)) turnAway(req, res);
    });
    res.once('close', () => {
      held -= ownBytes.get(req) ?? 0;
      ownBytes.set(req, 0);
    });
    next();
  };
  const decompressed: RequestHandler = (req, res, next) => {
    const more = Buffer.isBuffer(req.body) ? req.body.length - (ownBytes.get(req) ?? 0) : 0;
    if (more <= 0 || res.destroyed || hasRoom(req, more)) next();
    else turnAway(req, res);
  };
  // accepts any content type or none, since only the content counts
  return [received, express.raw({ type: () => true, limit: maxBodyBytes }), decompressed];
}
