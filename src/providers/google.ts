import { googleGemini } from '../dialects/google-gemini/dialect.ts';
import { facts } from './facts.ts';
import { isBelow, operationOf, type Provider } from './provider.ts';

/** Google's Gemini API. */
export const google: Provider = {
  ...facts.google,
  dialects: [googleGemini],
  takes: (path, { method }) => operationOf(googleGemini, method, path) ?? (isBelow(path, '/v1beta') ? 'forward' : null),
};
