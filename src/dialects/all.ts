import { anthropicMessages } from './anthropic-messages/dialect.ts';
import type { Dialect } from './dialect.ts';
import { googleGemini } from './google-gemini/dialect.ts';
import { openaiChat } from './openai-chat/dialect.ts';
import { openaiResponses } from './openai-responses/dialect.ts';

/** Every wire format that is read. */
export const dialects: readonly Dialect[] = [openaiChat, anthropicMessages, openaiResponses, googleGemini];
