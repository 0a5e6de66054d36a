import { JsonCursor } from '../../json/cursor.ts';

/**
 * The fields of a request that `POST /v1/messages/count_tokens` accepts; it refuses all others. Source:
 * https://platform.claude.com/docs/en/api/messages/count_tokens
 */
const COUNTED = new Set(['messages', 'model', 'output_config', 'system', 'thinking', 'tool_choice', 'tools']);

/**
 * Builds the body of a `count_tokens` request from the bytes of a request.
 *
 * @throws JsonShapeError if the body is not a JSON object
 */
export function countBody(body: Buffer): Buffer {
  const cursor = new JsonCursor(body);
  const pieces: Buffer[] = [];
  cursor.object((key) => {
    if (!COUNTED.has(key)) return;
    const { start, end } = cursor.value();
    pieces.push(Buffer.from(`${pieces.length === 0 ? '{' : ','}"${key}":`), body.subarray(start, end));
  });
  return Buffer.concat([...pieces, Buffer.from(pieces.length === 0 ? '{}' : '}')]);
}
