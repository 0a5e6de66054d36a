import { field, parsed } from '../../json/value.ts';
import type { Dialect } from '../dialect.ts';
import { googleGemini } from '../google-gemini/dialect.ts';
import { scanInteractionsBody } from './scan.ts';

/**
 * `POST …/interactions` as Google defined it (npm @google/genai 3.3). The provider stores each interaction, and later
 * ones continue it by `previous_interaction_id`. The model's thoughts are signed steps of the conversation.
 */
export const googleInteractions: Dialect = {
  name: 'interactions',
  verifiesHistory: 'with-reasoning',
  keepsHistory: 'items',
  claims: (method, path) => (method === 'POST' && PATH.test(path) ? 'generate' : null),
  scan: scanInteractionsBody,
  refusesToContinue(answer) {
    const error = field(parsed(answer.toString('utf8')), 'error');
    return NOT_FOUND.has(String(field(error, 'status') ?? field(error, 'code')).toUpperCase());
  },
  error: googleGemini.error,
};

const PATH = /^\/v1(?:beta|alpha)?\/interactions$/;
/** The request refers to nothing else that could be missing, except its model. */
const NOT_FOUND = new Set(['NOT_FOUND', '404']);
