import express, { type Request, type RequestHandler, type Response } from 'express';

/** Chosen: a body may take some ten times its size while it is worked on. */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** Bodies up to this size are always received: calls of `recover_text` are small. */
const SMALL_BYTES = 64 * 1024;

export interface BoundedBodyOptions {
  /** Largest body after decompression; a larger one fails with `entity.too.large`. */
  readonly maxBodyBytes: number;
  /** Most bytes of all bodies that are held, by default 64 MiB or twice the largest body. */
  readonly maxHeldBytes?: number | undefined;
  /** Answers a request for whose body there is no room; its connection is closed afterwards. */
  readonly refuse: (res: Response) => void;
}

/**
 * Reads bodies whole into `req.body` (a `Buffer`, decompressed), and limits the bytes that are held at a time, of all
 * clients together: each body counts until its answer was sent. A small body, or one that is alone, is never refused for
 * lack of room.
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
  // any content type, and none: only what the body holds counts
  return [received, express.raw({ type: () => true, limit: maxBodyBytes }), decompressed];
}
