import type { Dialect } from './dialect.ts';
import { openaiChat } from './openai-chat/dialect.ts';

/** Every wire format that is read. */
export const dialects: readonly Dialect[] = [openaiChat];
