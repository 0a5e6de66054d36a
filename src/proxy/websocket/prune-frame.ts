import type { IncomingHttpHeaders } from 'node:http';
import { reasonOf } from '../../core/failure-reason.ts';
import type { RequestRewriter, Rewritten } from '../../core/rewrite-request.ts';
import { within } from '../../core/within.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import { JsonShapeError } from '../../json/cursor.ts';
import type { RewriteRoom } from '../rewrite-room.ts';
import { scopeOf } from '../scope.ts';

export interface FramePruning {
  readonly dialect: Dialect;
  readonly rewriter: RequestRewriter;
  readonly enabled: boolean;
  /** Forward everything as it came and only report. */
  readonly shadow: boolean;
  readonly maxBodyBytes: number;
  readonly room: Pick<RewriteRoom, 'take'>;
  /** Longest time for finding, deciding and storing, in milliseconds; then the original goes. */
  readonly timeoutMs: number;
  /** A fault that was turned into a request forwarded as it came. */
  readonly onFault: (requestId: string, reason: string, cause: unknown) => void;
}

/** What became of a frame; without `rewritten` it could not be looked at, or something failed. */
export interface PrunedFrame {
  readonly rewritten: Rewritten | null;
  readonly fallbacks: readonly string[];
}

/**
 * Prunes a frame as the body that it is. Never rejects: whatever goes wrong inside, the original goes on.
 *
 * @param headers - of the request that opened the connection
 */
export async function pruneFrame(
  frame: Buffer,
  headers: IncomingHttpHeaders,
  requestId: string,
  options: FramePruning,
): Promise<PrunedFrame> {
  const { dialect, rewriter, shadow, maxBodyBytes, timeoutMs, onFault } = options;
  const failed = (reason: string): PrunedFrame => ({ rewritten: null, fallbacks: [reason] });
  if (!options.enabled || isOff(headers)) return { rewritten: null, fallbacks: [] };
  if (frame.length > maxBodyBytes) return failed('body_too_large');
  const release = await options.room.take(frame.length, timeoutMs);
  if (release === null) return failed('overloaded');
  try {
    const request = { body: frame, dialect, scope: scopeOf(headers, requestId) };
    const work = shadow ? rewriter.rewriteDry(request) : rewriter.rewrite(request);
    const rewritten = await within(work, 3 * timeoutMs);
    if (!rewritten) return failed('timeout');
    return { rewritten, fallbacks: [...(rewritten.refusedBefore ? ['left_alone'] : []), ...rewritten.fallbacks] };
  } catch (cause) {
    const reason = cause instanceof JsonShapeError ? cause.code : reasonOf(cause);
    onFault(requestId, reason, cause);
    return failed(reason);
  } finally {
    release();
  }
}

function isOff({ 'x-mcp-pruner': off }: IncomingHttpHeaders): boolean {
  return typeof off === 'string' && off.trim().toLowerCase() === 'off';
}
