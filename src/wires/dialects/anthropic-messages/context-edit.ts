import { JsonShapeError } from '../../json/cursor.ts';

/**
 * Lets the provider clear old results once a request has 27 calls, except the newest 12, if that frees 3,000 tokens.
 * Source: https://platform.claude.com/docs/en/build-with-claude/context-editing
 */
const FIELD =
  '"context_management":{"edits":[{"type":"clear_tool_uses_20250919","keep":{"type":"tool_uses","value":12},' +
  '"trigger":{"type":"tool_uses","value":27},"clear_at_least":{"type":"input_tokens","value":3000}}]}';

/** The feature that `anthropic-beta` must name for the field. */
export const CONTEXT_BETA = 'context-management-2025-06-27';

const CLOSE_BRACE = 0x7d;
const NAMES = /context[-_]management|clear_tool_uses/;

/** A body with the field as its last one. @throws JsonShapeError if it is no JSON object with another field */
export function withContextEdit(body: Buffer): Buffer {
  const end = body.lastIndexOf(CLOSE_BRACE);
  if (end < 0) throw new JsonShapeError('no object');
  return Buffer.concat([body.subarray(0, end), Buffer.from(`,${FIELD}`), body.subarray(end)]);
}

/** Whether the body of a refusal names the field. */
export function refusesContextEdit(answer: Buffer): boolean {
  return NAMES.test(answer.toString('latin1'));
}
