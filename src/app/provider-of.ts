import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { googleGemini } from '../dialects/google-gemini/dialect.ts';
import { openaiChat } from '../dialects/openai-chat/dialect.ts';
import { pathOf } from '../proxy/doors/front.ts';
import type { ErrorBody } from '../proxy/openai-error.ts';
import { type Wire, wireOf } from '../proxy/server.ts';

/**
 * Whether a request is for the provider of the messages wire: by its path, or by the field its clients send.
 *
 * @param path - below `/v1`
 */
export function isForAnthropic(path: string, headers: IncomingHttpHeaders): boolean {
  return /^\/messages(?:\/|$)/.test(path) || headers['anthropic-version'] !== undefined;
}

/** How whoever asks reads an error of our own: as its wire has it, or the provider that its path leads to. */
export function errorBodyFor(wires: readonly Wire[], req: IncomingMessage): ErrorBody {
  const path = pathOf(req);
  const ofPath = path.startsWith('/v1beta/')
    ? googleGemini
    : path.startsWith('/v1/') && isForAnthropic(path.slice('/v1'.length), req.headers)
      ? anthropicMessages
      : openaiChat;
  return wireOf(wires, req)?.errorBody ?? ofPath.error;
}

/** Which of the proxy's own keys a request that goes on is for; `null`: none, or it does not go on. */
export function providerOf(wires: readonly Wire[], req: IncomingMessage): 'messages' | 'others' | null {
  const { method = '', headers } = req;
  const path = pathOf(req);
  if (anthropicMessages.claims(method, path) !== null) return 'messages';
  if (googleGemini.claims(method, path) !== null) return null;
  if (wireOf(wires, req) !== undefined) return 'others';
  if (!path.startsWith('/v1/')) return null;
  return isForAnthropic(path.slice('/v1'.length), headers) ? 'messages' : 'others';
}
