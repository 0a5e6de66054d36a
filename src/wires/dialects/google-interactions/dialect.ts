import { field, parsed } from '../../json/value.ts';
import type { Dialect } from '../dialect.ts';
import { googleGemini } from '../google-gemini/dialect.ts';
import { scanInteractionsBody } from './scan.ts';

/**
 * `POST …/interactions` as Google defined it (npm @google/genai 3.3). The provider keeps each interaction, and a later
 * one continues it by `previous_interaction_id`. The model's thoughts are steps of the conversation, with signatures.
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
/** The request names nothing else that could be missing but the interaction before, and its model. */
const NOT_FOUND = new Set(['NOT_FOUND', '404']);
