import { googleGemini } from '../dialects/google-gemini/dialect.ts';
import { facts } from './facts.ts';
import { belowVersion, isBelow, operationOf, type Provider } from './provider.ts';

/** Google's Gemini API. */
export const google: Provider = {
  ...facts.google,
  dialects: [googleGemini],
  takes(path, line) {
    const operation = operationOf(googleGemini, line.method, path);
    return operation || isBelow(path, '/v1beta') ? belowVersion(operation, line) : null;
  },
};
