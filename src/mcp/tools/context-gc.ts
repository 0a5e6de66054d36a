import { z } from 'zod';
import { boundedList } from '../tool-input.ts';

/** More segments than any conversation has; bounds the work of one call. */
const MAX_SEGMENTS = 10_000;

export const projectId = z.string().min(1).max(200).describe('Header x-mcp-pruner-project, else "default".');

export const segmentIds = boundedList(z.string(), MAX_SEGMENTS).describe('From context_gc_analyze.');

/** The answer to an empty list of segments. */
export const NOTHING_NAMED = 'segment_ids is empty: nothing to do. context_gc_analyze lists segments.';
