import type { ToolAnnotations, ToolContext } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { Caller } from '../../ports.ts';

const HERE = { openWorldHint: false } as const;

/** Read-only. */
export const READS: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, ...HERE };

/** Adds something on each call. */
export const ADDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, ...HERE };

/** Sets a reversible value; repeating it has no further effect. */
export const SETS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, ...HERE };

/** Replaces existing content; repeating it is another change. */
export const REPLACES: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, ...HERE };

/** Ends or removes something; repeating it has no further effect. */
export const ENDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, ...HERE };

/** Starts programs, or calls arbitrary tools on request. */
export const STARTS: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

export const owner = z.string().trim().min(1).max(120).optional();
export const note = z.string().trim().min(1).max(240).optional();

const NOBODY: Caller = { childId: null };

export function callerOf({ caller }: ToolContext): Caller {
  return caller ?? NOBODY;
}
