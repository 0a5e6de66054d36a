import { describe, expect, it } from 'vitest';
import { anthropicMessages } from '../../../src/wires/dialects/anthropic-messages/dialect.ts';
import { googleGemini } from '../../../src/wires/dialects/google-gemini/dialect.ts';
import { openaiChat } from '../../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../../src/wires/dialects/openai-responses/dialect.ts';
import { BodyWalk } from '../../../src/wires/json/walk.ts';
import { below, compare, randomBody } from './walk-bodies.ts';

const WIRES = [openaiChat, anthropicMessages, openaiResponses, googleGemini];

describe.each(WIRES)('the walk over a body of the wire $name', (dialect) => {
  const { walk: shape } = dialect;
  if (!shape) throw new Error('the wire has no walk');
  const walk = new BodyWalk();

  const count = process.env.MCP_PRUNER_TEST_LONG ? 100_000 : 6_000;

  it('accepts only what JSON.parse and the wire accept, and misses no text that could be cut', {
    timeout: 20 * count,
  }, () => {
    let accepted = 0;
    for (let seed = 1; seed <= count; seed++) {
      if (compare(dialect, shape, walk, randomBody(below(seed * 7_919), shape.list))) accepted++;
    }
    expect(accepted).toBeGreaterThan(count / 20);
  });

  it.each([
    ['the list stands twice', `{"${shape.list}":[{"role":"user","content":"a"}],"${shape.list}":[{"role":"user"}]}`],
    ['the list is none', `{"${shape.list}":"hello"}`],
    ['a message is a string', `{"${shape.list}":["hello"]}`],
    ['a key is escaped', `{"${shape.list}":[{"r\\u006fle":"assistant","content":"a"}]}`],
    [
      'the list’s key is escaped',
      `{"\\u${shape.list.charCodeAt(0).toString(16).padStart(4, '0')}${shape.list.slice(1)}":[]}`,
    ],
    ['a message has two roles', `{"${shape.list}":[{"role":"user","role":"assistant","content":"a"}]}`],
    ['the body begins with a byte order mark', `\ufeff{"${shape.list}":[{"role":"user","content":"a"}]}`],
    ['something follows the body', `{"${shape.list}":[{"role":"user","content":"a"}]}{}`],
    ['it is half a body', `{"${shape.list}":[{"role":"user","content":"a"}`],
    [
      'values are nested too deeply',
      `{"${shape.list}":[{"role":"user","content":${'['.repeat(600)}${']'.repeat(600)}}]}`,
    ],
  ])('gives up if %s', (_what, body) => {
    expect(walk.walk(Buffer.from(body), 0, shape)).toBe(false);
  });

  it('gives up on bytes that are not UTF-8', () => {
    const body = Buffer.from(`{"${shape.list}":[{"role":"user","content":"a@"}]}`);
    body[body.indexOf('@')] = 0xff;
    expect(walk.walk(body, 0, shape)).toBe(false);
  });
});
