import { field, finiteNumber, parsed } from '../../json/value.ts';
import { anthropicMessages } from '../anthropic-messages/dialect.ts';
import type { AnswerReader, Dialect, ProviderUsage } from '../dialect.ts';
import { framedOrPlain } from '../event-stream.ts';
import { meaningOf } from '../scan-body.ts';
import { TailUsage } from '../tail-usage.ts';
import { scanConverseBody } from './scan.ts';

/**
 * `POST /model/<id>/converse` and `/converse-stream` as Amazon Bedrock defined them for all its models. Claude binds
 * its reasoning to the messages before it on this wire too, so messages must be repeated as they were sent. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
export const bedrockConverse: Dialect = {
  name: 'converse',
  verifiesHistory: true,
  keepsHistory: false,
  claims(method, path) {
    return method === 'POST' && PATH.test(path) ? 'generate' : null;
  },
  scan: scanConverseBody,
  meaning: meaningOf,
  answer: converseAnswer,
  refusesHistory: (status, answer) => anthropicMessages.refusesHistory(status, answer),
  // clients of AWS read `message`
  error: (_status, code, message) =>
    Buffer.from(JSON.stringify({ message: `${message} (${code})`, error: { message, code } })),
};

const PATH = /^\/model\/[^/]+\/converse(?:-stream)?$/;
const USAGE = Buffer.from('"usage"');

/** A whole answer has its usage at its end; a stream has it in the frame `metadata`. */
function converseAnswer(): AnswerReader {
  const plain = new TailUsage(USAGE, usageOf);
  let metadata: ProviderUsage | null = null;
  const reader = framedOrPlain(plain, (type, payload) => {
    if (type === 'metadata') metadata = usageOf(field(parsed(payload.toString('utf8')), 'usage'));
  });
  return { data: (chunk) => reader.data(chunk), usage: () => metadata ?? plain.usage(), turn: () => null };
}

/** `inputTokens` excludes tokens that were read from or written to a cache. */
function usageOf(usage: unknown): ProviderUsage | null {
  if (usage === null || typeof usage !== 'object') return null;
  const fresh = finiteNumber(field(usage, 'inputTokens'));
  const cachedTokens = finiteNumber(field(usage, 'cacheReadInputTokens'));
  const cacheWriteTokens = finiteNumber(field(usage, 'cacheWriteInputTokens'));
  return {
    promptTokens: fresh === null ? null : fresh + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0),
    completionTokens: finiteNumber(field(usage, 'outputTokens')),
    cachedTokens,
    cacheWriteTokens: cacheWriteTokens ?? undefined,
  };
}
