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

/** Answers of edit tools that did not find the text to replace, or found it several times. */
const NOT_FOUND =
  /not found in|no match|(?:failed|unable) to (?:find|match|locate)|could(?: not|n't) (?:find|locate|apply)|(?:did|does)(?: not|n't) (?:match|appear)|no replacement was|0 occurrences|multiple (?:matches|occurrences)|\d matches of the string|verification failed|patch failed|has not been read yet|modified since (?:it was )?(?:last )?read/i;
/** Matches the beginning of the answer to a successful edit; lines of the file may follow. */
const APPLIED = /^\W*(?:the file \S+ has been (?:updated|edited)|success|done\b|edit applied|edited\b|updated\b)/i;
const ANSWER_CHARS = 600;

/** Whether an edit's answer reports that the text to replace was missing, ambiguous or outdated. */
export function editFailed(answer: string): boolean {
  const text = answer.slice(0, ANSWER_CHARS);
  return NOT_FOUND.test(text) && !APPLIED.test(text);
}
