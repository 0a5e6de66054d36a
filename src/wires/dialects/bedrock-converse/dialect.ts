import { anthropicMessages } from '../anthropic-messages/dialect.ts';
import type { Dialect } from '../dialect.ts';
import { scanConverseBody } from './scan.ts';

/**
 * `POST /model/<id>/converse` and `/converse-stream` as Amazon Bedrock defined them for all its models. Claude binds
 * its reasoning to the preceding messages on this wire too, so messages must be repeated as sent. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
export const bedrockConverse: Dialect = {
  name: 'converse',
  verifiesHistory: 'always',
  keepsHistory: 'never',
  claims(method, path) {
    return method === 'POST' && PATH.test(path) ? 'generate' : null;
  },
  scan: scanConverseBody,
  refusesHistory: anthropicMessages.refusesHistory,
  // AWS clients read `message`
  error: (_status, code, message) =>
    Buffer.from(JSON.stringify({ message: `${message} (${code})`, error: { message, code } })),
};

const PATH = /^\/model\/[^/]+\/converse(?:-stream)?$/;
