import type { ResultMarks } from '../core/ports/result-marks.ts';
import type { OverTokenBudget, SeenRequest, SeenSegment } from '../core/ports/segments.ts';
import { pathKey } from './keys.ts';
import { NEWEST_MESSAGES } from './newest.ts';

/** Number of characters at either end of a result searched for an exit code. */
const EDGE_CHARS = 400;
const NONZERO_EXIT =
  /\b(?:exit(?:ed)?(?: with)?(?: (?:code|status))?|exit_?code|returncode)["' >]{0,3}[:=]?\s{0,2}\(?[1-9]\d{0,2}\b/i;
const MAX_DEPTH = 6;

/**
 * Whether a result reports a tool error: marked by the wire, text beginning with `Error`, or non-zero exit code.
 *
 * @param message - returns the parsed message; called only if the text is inconclusive
 */
export function isFailed(text: string, callId: string, message: () => unknown): boolean {
  if (/^\s{0,20}(?:<[a-z_]{1,20}>\s{0,5})?Error\b/.test(text)) return true;
  if (NONZERO_EXIT.test(text.slice(0, EDGE_CHARS)) || NONZERO_EXIT.test(text.slice(-EDGE_CHARS))) return true;
  return isMarked(message(), callId, MAX_DEPTH);
}

/** Checks Anthropic's `is_error`, OpenAI's `success` or Gemini's `response.error` in the block for a call. */
function isMarked(value: unknown, callId: string, depth: number): boolean {
  if (value === null || typeof value !== 'object' || depth === 0) return false;
  if (Array.isArray(value)) return value.some((item) => isMarked(item, callId, depth - 1));
  const block = value as Readonly<Record<string, unknown>>;
  const id = block.tool_use_id ?? block.call_id ?? block.tool_call_id ?? block.toolUseId ?? block.id;
  const isOther = typeof id === 'string' && callId !== '' && id !== callId;
  if (!isOther && marksError(block)) return true;
  return !isOther && Object.values(block).some((item) => isMarked(item, callId, depth - 1));
}

function marksError(block: Readonly<Record<string, unknown>>): boolean {
  const { response } = block;
  const hasError = response !== null && typeof response === 'object' && 'error' in response && Boolean(response.error);
  return block.is_error === true || block.success === false || block.status === 'error' || hasError;
}

export interface StayingOptions {
  readonly marks: Pick<ResultMarks, 'givenOut'>;
  /** The prune id under which a segment is stashed. */
  readonly stashId: (project: string, segmentId: string) => string;
}

/**
 * Results that no automatic step puts aside, because the work still needs them: newest readings of relevant files, tool
 * errors, texts with `NO_PRUNE` directives, and recovered results.
 *
 * @throws StoreUnavailable
 */
export async function stayingIn(
  options: StayingOptions,
  { scope: { project }, request, messageAt }: Pick<OverTokenBudget, 'scope' | 'request' | 'messageAt'>,
): Promise<(segment: SeenSegment) => boolean> {
  const results = request.segments.filter(({ role }) => role === 'tool');
  const stored = results.map((segment) => ({ segment, ids: storedIds(options, project, segment) }));
  const givenOut = await options.marks.givenOut(stored.flatMap(({ ids }) => ids));
  const needed = stored.filter(({ ids }) => ids.some((id) => givenOut.has(id))).map(({ segment }) => segment);
  const kept = new Set([...keptReadings(request), ...needed]);
  return (segment) => {
    const { text, callId, ordinal } = segment;
    return kept.has(segment) || text.includes('NO_PRUNE') || isFailed(text, callId, () => messageAt(ordinal));
  };
}

/** Ids under which a segment's text is stored: of its cuts, and of its stash. */
export function storedIds(
  { stashId }: Pick<StayingOptions, 'stashId'>,
  project: string,
  { id, pruneIds }: SeenSegment,
): readonly string[] {
  return [...pruneIds, stashId(project, id)];
}

/** The newest reading of each file that was edited, or is mentioned in a call or text of the newest messages. */
function keptReadings({ messages, segments }: SeenRequest): ReadonlySet<SeenSegment> {
  const newest = segments.filter(({ ordinal }) => ordinal >= messages - NEWEST_MESSAGES);
  const edited = new Set(segments.flatMap((segment) => segment.edited.map(pathKey)));
  const isNamed = (path: string): boolean =>
    newest.some(({ text, wanted }) => text.includes(path) || wanted.includes(path));
  const readings = new Map<number, SeenSegment>();
  for (const segment of segments)
    if (segment.effect === 'read' && segment.path !== '') readings.set(pathKey(segment.path), segment);
  return new Set([...readings].flatMap(([key, reading]) => (edited.has(key) || isNamed(reading.path) ? reading : [])));
}
