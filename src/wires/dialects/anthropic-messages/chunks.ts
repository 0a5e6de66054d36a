import { field, parsed } from '../../json/value.ts';
import type { AnswerReader } from '../dialect.ts';
import { framedOrPlain } from '../event-stream.ts';

/**
 * Reads an answer of the messages wire that Bedrock streams: each frame `chunk` contains one of Anthropic's events, in
 * base64. Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
 */
export function chunksOf(answer: AnswerReader): AnswerReader {
  return framedOrPlain(answer, (type, payload) => {
    const bytes = type === 'chunk' ? field(parsed(payload.toString('utf8')), 'bytes') : undefined;
    if (typeof bytes !== 'string') return;
    answer.data(Buffer.concat([DATA, Buffer.from(bytes, 'base64'), END]));
  });
}

const DATA = Buffer.from('data: ');
const END = Buffer.from('\n\n');
