import type { ToolAnnotations } from '../../tool.ts';

const HERE = { openWorldHint: false } as const;

/** Changes nothing. */
export const READS: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, ...HERE };

/** Adds something, each time it is called. */
export const ADDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, ...HERE };

/** Sets something that can be set back; a repeat changes nothing more. */
export const SETS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, ...HERE };

/** Puts something in the place of what stood there; a repeat is another change. */
export const REPLACES: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, ...HERE };

/** Ends or removes something; a repeat changes nothing more. */
export const ENDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, ...HERE };

/** Starts programs, or calls whatever tools it is told to. */
export const STARTS: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};
