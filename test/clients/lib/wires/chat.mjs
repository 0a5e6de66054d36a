import { plainAnswer, streamedAnswer } from '../answers.mjs';

/** `/v1/chat/completions`. */
export const chat = {
  name: 'chat',
  path: /\/chat\/completions$/,
  /** Where the conversation stands in a body. */
  list: 'messages',
  read: ({ tools, messages }) => ({ tools: tools ?? [], messages: messages ?? [] }),
  plain: plainAnswer,
  events: (turn, body) => streamedAnswer(turn, body.stream_options?.include_usage === true),
};
