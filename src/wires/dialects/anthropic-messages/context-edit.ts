import { JsonShapeError } from '../../json/cursor.ts';

/**
 * Lets the provider clear all but the 12 newest results once a request has 27 calls, if that frees 3,000 tokens.
 * Source: https://platform.claude.com/docs/en/build-with-claude/context-editing
 */
const FIELD =
  '"context_management":{"edits":[{"type":"clear_tool_uses_20250919","keep":{"type":"tool_uses","value":12},' +
  '"trigger":{"type":"tool_uses","value":27},"clear_at_least":{"type":"input_tokens","value":3000}}]}';

/** Feature name required in `anthropic-beta` for this field. */
export const CONTEXT_BETA = 'context-management-2025-06-27';

const CLOSE_BRACE = 0x7d;
const NAMES = /context[-_]management|clear_tool_uses/;

/** Appends the field to a body. @throws JsonShapeError if the body is not a JSON object with at least one field */
export function withContextEdit(body: Buffer): Buffer {
  const end = body.lastIndexOf(CLOSE_BRACE);
  if (end < 0) throw new JsonShapeError('no object');
  return Buffer.concat([body.subarray(0, end), Buffer.from(`,${FIELD}`), body.subarray(end)]);
}

/** Whether a refusal's body mentions the field. */
export function refusesContextEdit(answer: Buffer): boolean {
  return NAMES.test(answer.toString('latin1'));
}
