import { googleGemini } from '../../../../src/wires/dialects/google-gemini/dialect.ts';
import { describeDialect, type Turn } from '../../../contract/dialect.suite.ts';

type Part = Readonly<Record<string, unknown>>;
interface Content {
  readonly role: string;
  readonly parts: readonly Part[];
}

function contentsOf(turns: readonly Turn[]): Content[] {
  return turns.map((turn): Content => {
    if ('user' in turn) return { role: 'user', parts: [{ text: turn.user }] };
    if ('results' in turn) {
      const parts = turn.results.map(({ id, text }) => ({
        functionResponse: { name: id === 'call_1' ? 'bash' : 'read_file', response: { output: text }, id },
      }));
      return { role: 'user', parts };
    }
    const calls = turn.calls.map(({ id, name, args }) => ({
      functionCall: { id, args, name },
      thoughtSignature: 'c2ln',
    }));
    return { role: 'model', parts: [{ text: turn.said }, ...calls] };
  });
}

function bodyOf(contents: readonly unknown[], behind: object = {}): Buffer {
  const systemInstruction = { role: 'user', parts: [{ text: 'You are a careful engineer.' }] };
  return Buffer.from(JSON.stringify({ systemInstruction, contents, ...behind }));
}

/** As the provider takes it in its other spelling. */
function snakeCase({ role, parts }: Content): object {
  const spelled = parts.map(({ functionCall, functionResponse, ...rest }) => ({
    ...rest,
    ...(functionCall !== undefined && { function_call: functionCall }),
    ...(functionResponse !== undefined && { function_response: functionResponse }),
  }));
  return { parts: spelled, role };
}

const usageMetadata = {
  promptTokenCount: 120,
  cachedContentTokenCount: 64,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  totalTokenCount: 127,
};
const counted = { promptTokens: 120, completionTokens: 7, reasoningTokens: 2, cachedTokens: 64 };

describeDialect({
  dialect: googleGemini,
  claims: [
    ['POST', '/v1beta/models/gemini-2.5-pro:generateContent', 'generate'],
    ['POST', '/v1beta/models/gemini-2.5-pro:streamGenerateContent', 'generate'],
    ['POST', '/v1/models/gemini-2.5-pro:generateContent', 'generate'],
    ['POST', '/v1beta/models/gemini-2.5-pro:countTokens', 'count'],
    ['POST', '/v1beta/models/gemini-2.5-pro:embedContent', null],
    ['GET', '/v1beta/models/gemini-2.5-pro:generateContent', null],
    ['GET', '/v1beta/models', null],
    ['POST', '/other/models/x:generateContent', null],
    ['POST', '/v1/chat/completions', null],
  ],
  body: (turns, behind) => bodyOf(contentsOf(turns), behind),
  respelled: (turns) => [
    bodyOf(contentsOf(turns).map(snakeCase)),
    Buffer.from(JSON.stringify({ contents: contentsOf(turns), tools: [] }, null, 2)),
  ],
  ambiguous: (text) => {
    const call = '{"role":"model","parts":[{"functionCall":{"id":"c","name":"bash","args":{}}}]}';
    const json = JSON.stringify(text);
    const result = (parts: string, role = '"role":"user"'): Buffer =>
      Buffer.from(`{"contents":[${call},{${role},"parts":[${parts}]}]}`);
    const response = (fields: string): string => `{"functionResponse":{${fields}}}`;
    return [
      ['two roles', result(response(`"id":"c","response":{"output":${json}}`), '"role":"user","role":"model"')],
      ['two ids', result(response(`"id":"c","id":"d","response":{"output":${json}}`))],
      ['two responses', result(response(`"id":"c","response":{"output":${json}},"response":{"output":"b"}`))],
      ['two outputs', result(response(`"id":"c","response":{"output":${json},"output":"b"}`))],
      ['a text next to a response', result(`{"text":"x","functionResponse":{"id":"c","response":{"output":${json}}}}`)],
    ];
  },
  many: (count) => Buffer.from(`{"contents":[${'1,'.repeat(count - 1)}1]}`),
  answers: [
    { name: 'a whole answer', bytes: Buffer.from(JSON.stringify({ candidates: [], usageMetadata })), usage: counted },
    {
      name: 'a stream',
      bytes: Buffer.from(
        `data: {"candidates":[],"usageMetadata":{"promptTokenCount":120}}\r\n\r\ndata: ${JSON.stringify({ usageMetadata })}\r\n\r\n`,
      ),
      usage: counted,
    },
    { name: 'an answer without any', bytes: Buffer.from('{"candidates":[]}'), usage: null },
    { name: 'something else', bytes: Buffer.from('<html>'), usage: null },
  ],
});
