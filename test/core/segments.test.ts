import { expect, it } from 'vitest';
import { findTexts } from '../../src/core/request/find-texts.ts';
import { BodyTexts } from '../../src/core/request/found-text.ts';
import { segmentsIn } from '../../src/core/segments/text-segments.ts';
import { scanChatBody } from '../../src/wires/dialects/openai-chat/scan.ts';
import { Conversation } from '../../src/wires/goal/conversation.ts';
import { chatBody, toolTurn } from '../helpers/chat.ts';
import { serverLog } from '../helpers/texts.ts';

const SETTINGS = {
  minPruneChars: 1_000,
  maxInputChars: 2_000_000,
  limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  neverPruneTool: () => false,
  neverPrunePath: () => false,
};
const LOG = serverLog(60);

it.each([
  ['a plain result', LOG],
  ['a result in JSON', JSON.stringify({ output: LOG, exit_code: 0 })],
  ['a result in JSON in JSON', JSON.stringify([{ text: JSON.stringify({ out: LOG, err: LOG }), type: 'text' }])],
])('%s is the same segment whether its texts were read before or not', (_, result) => {
  const texts = new BodyTexts(chatBody(toolTurn('c', 'bash', { command: 'npm test' }, result)));
  const conversation = new Conversation();
  const seen = scanChatBody(texts.bytes).messages.map((message, i) => {
    const found = findTexts({ texts, message, messageIndex: i, conversation, settings: SETTINGS, results: [] });
    expect(segmentsIn(texts, message, i, found)).toEqual(segmentsIn(texts, message, i, []));
    return found.length;
  });
  expect(seen.at(-1)).toBeGreaterThan(0);
});
