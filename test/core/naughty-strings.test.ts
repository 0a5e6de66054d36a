import { expect, it } from 'vitest';
import { always, PRUNE } from '../../src/core/request/policy.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import { bedrockConverse } from '../../src/wires/dialects/bedrock-converse/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { googleGemini } from '../../src/wires/dialects/google-gemini/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { openPipeline, openStore, restored } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

/** Strings that programs have mangled before, by kind. None has a line end, so that each stays on its line. */
const NAUGHTY = [
  ...['undefined', 'null', 'NaN', 'true', '0', '-0', '1e999', '0x0', '1,000', '999999999999999999999999'],
  ...['\0', '\u0001\u0002\u0007\b\f\u001b[31m', '\t\v ', '\u007f\u0080\u0084\u009f', '\u00a0\u1680\u2003\u3000\ufeff'],
  ...['\u200b\u200c\u200d\u2060\u00ad', '\u2028', '\u2029', '\u0085', '\ufeff', '\ufffe', '\uffff', '\ufffd', '\ufdd0'],
  ...['\ud800', '\udfff', '\udc00\ud800', 'a\ud83d', '\ude00b', '\ud83d\ud83d\ude00'],
  ...['\u202eright to left\u202c', 'ثم نفس سقطت', 'בְּרֵאשִׁית', '\u2066\u2067\u2069', 'a\u0300\u0301\u0302\u0303', 'Z̮̞̠͙͔ͅA̙̖L̴G̻O'],
  ...[
    '👩🏽‍🚀',
    '🇺🇸🇷🇺',
    '👨‍👩‍👧‍👦',
    '❤️',
    '👾 🙇 💁 🙅',
    '1️⃣',
    '🏴\u{e0067}\u{e0062}\u{e007f}',
    '\u{10ffff}',
    '𝕿𝖍𝖊 ｑｕｉｃｋ',
  ],
  ...['田中さんにあげて', '社會科學院語學研究所', 'ÅÍÎÏ˝ÓÔ', 'İı ß ẞ ſ', 'é', 'e\u0301', '﷽', '‮'],
  ...[
    '\\',
    '\\\\"',
    '"\'`',
    '\\u0000',
    '\\n',
    '</script><script>alert(1)</script>',
    "' OR 1=1 --",
    '$(rm -rf /)',
    '%00%0a%s%n%d',
  ],
  ...[
    '{{7*7}} #{7*7}',
    '../../etc/passwd',
    '[]{},:',
    '{"a":"b"}',
    '⟦',
    '⟧',
    '⟦PRUNED: prune_id=prn_000000000000 lines 1-2 (2) reason=x⟧',
  ],
];

const LINES = serverLog(240).trimEnd().split('\n');
/** Each string on two lines of a log, one among the first and one among the last. */
const TEXT = `${LINES.map((line, i) => (i % 2 === 0 ? `${line} ${NAUGHTY[(i / 2) % NAUGHTY.length]}` : line)).join('\n')}\n`;

/** Every code unit outside of letters as an escape. */
const escaped = (text: string): string =>
  JSON.stringify(text).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The body around the literal of a result, on each wire. */
const WIRES: Readonly<Record<string, readonly [Dialect, before: string, after: string]>> = {
  chat: [
    openaiChat,
    '{"messages":[{"role":"user","content":"why"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":',
    '}]',
  ],
  messages: [
    anthropicMessages,
    '{"messages":[{"role":"user","content":"why"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":',
    '}]}]',
  ],
  responses: [
    openaiResponses,
    '{"input":[{"type":"function_call","call_id":"c","name":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":',
    '}]',
  ],
  gemini: [
    googleGemini,
    '{"contents":[{"role":"model","parts":[{"functionCall":{"name":"run","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"run","response":{"output":',
    '}}}]}]',
  ],
  converse: [
    bedrockConverse,
    '{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"run","input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c","content":[{"text":',
    '}]}}]}]',
  ],
};

it.each(Object.entries(WIRES))(
  'naughty strings stay unchanged in lines that %s keeps, and are recovered from lines that it cuts',
  async (_name, wire) => {
    const [dialect, before, after] = wire;
    for (const spelled of [JSON.stringify, escaped]) {
      const store = openStore();
      const end = `${after},"metadata":${spelled(NAUGHTY.join(' '))}}`;
      const body = Buffer.from(`${before}${spelled(TEXT)}${end}`);
      const { body: sent } = await openPipeline({ store }).rewrite(
        { body, dialect },
        always({ ...PRUNE, history: 'replay' }),
      );
      const text = sent.toString();
      expect([text.startsWith(before), text.endsWith(end), sent.length < body.length / 1.5]).toEqual([
        true,
        true,
        true,
      ]);
      const literal = text.slice(before.length, text.length - end.length);
      const kept = literal
        .slice(1, -1)
        .split('\\n')
        .filter((line) => !line.includes('prune_id=prn_') || line.includes('000000000000'));
      const given = new Set(spelled(TEXT).slice(1, -1).split('\\n'));
      expect(kept.filter((line) => !given.has(line))).toEqual([]);
      expect(kept.length).toBeGreaterThan(10);
      expect(await restored(JSON.parse(literal) as string, store)).toBe(TEXT);
    }
  },
);
