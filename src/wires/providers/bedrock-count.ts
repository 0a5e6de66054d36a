import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { bedrockConverse } from '../dialects/bedrock-converse/dialect.ts';
import { JsonCursor, type Span } from '../json/cursor.ts';
import type { Enclosed } from './provider.ts';

/**
 * Opens a body of `CountTokens`: `{"input": {"converse": {…}}}`, or `{"input": {"invokeModel": {"body": "<base64>"}}}`.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html
 *
 * @returns `null` for a body of another shape
 * @throws JsonShapeError if it is not a JSON object
 */
export function openCount(bytes: Buffer): Enclosed | null {
  const { converse, invoked } = find(bytes);
  if (converse !== null && invoked === null) {
    const body = bytes.subarray(converse.start, converse.end);
    return { dialect: bedrockConverse, body, close: (changed) => replaced(bytes, converse, changed) };
  }
  if (invoked === null || converse !== null) return null;
  const text = bytes.toString('latin1', invoked.start + 1, invoked.end - 1);
  const body = Buffer.from(text, 'base64');
  // other spellings of base64 could not be restored exactly
  if (body.toString('base64') !== text) return null;
  const close = (changed: Buffer): Buffer => replaced(bytes, invoked, Buffer.from(`"${changed.toString('base64')}"`));
  return { dialect: anthropicMessages, body, close };
}

function find(bytes: Buffer): { readonly converse: Span | null; readonly invoked: Span | null } {
  const cursor = new JsonCursor(bytes);
  let converse: Span | null = null;
  let invoked: Span | null = null;
  cursor.object((key) => {
    if (key !== 'input' || !cursor.atObject()) return;
    cursor.object((kind) => {
      if (kind === 'converse' && cursor.atObject()) converse = cursor.value();
      else if (kind === 'invokeModel' && cursor.atObject()) {
        cursor.object((name) => {
          if (name === 'body' && cursor.atString()) invoked = cursor.string();
        });
      }
    });
  });
  return { converse, invoked };
}

function replaced(bytes: Buffer, { start, end }: Span, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);
}
