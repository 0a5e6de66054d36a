import { field } from 'mcp-pruner/wires/json/value.ts';
import { ChatThread } from './chat-thread.ts';
import { numberOf, projectOf, type Session, type SessionRequest, textOf } from './recorded.ts';

/** A message of opencode with its parts, in opencode's storage format. */
export interface OpenCodeMessage {
  readonly info: unknown;
  readonly parts: readonly unknown[];
}

/**
 * Reads a session of opencode from its database or its folder of files: messages of `user` and `assistant` with parts
 * of type `text` and `tool`. An assistant's message is a request with its `tokens`, where `input` excludes cached
 * tokens.
 *
 * @param messages - in order
 */
export function openCodeSession(messages: readonly OpenCodeMessage[]): Session {
  const thread = new ChatThread();
  const requests: SessionRequest[] = [];
  for (const { info, parts } of messages) {
    const words = parts
      .map((part) => (field(part, 'type') === 'text' ? textOf(field(part, 'text')) : ''))
      .join('\n')
      .trim();
    if (field(info, 'role') === 'user') {
      thread.user(words);
      continue;
    }
    if (field(info, 'role') !== 'assistant') continue;
    const request = requestOf(info, thread);
    if (request) requests.push(request);
    if (field(info, 'summary') === true) thread.restart();
    const tools = parts.filter((part) => field(part, 'type') === 'tool');
    thread.assistant(
      words,
      tools.map((part) => ({
        id: textOf(field(part, 'callID')),
        name: textOf(field(part, 'tool')),
        args: field(field(part, 'state'), 'input'),
      })),
    );
    for (const part of tools) {
      const state = field(part, 'state');
      thread.result(textOf(field(part, 'callID')), textOf(field(state, 'output')) || textOf(field(state, 'error')));
    }
  }
  return { requests, offered: new Set() };
}

function requestOf(info: unknown, thread: ChatThread): SessionRequest | null {
  const tokens = field(info, 'tokens');
  const cache = field(tokens, 'cache');
  const [read, written] = [numberOf(field(cache, 'read')), numberOf(field(cache, 'write'))];
  const input = numberOf(field(tokens, 'input')) + read + written;
  if (input === 0) return null;
  const reasoning = numberOf(field(tokens, 'reasoning'));
  return {
    key: textOf(field(info, 'id')),
    ...{ thread: 'main', wire: 'chat', reasoning },
    atMs: numberOf(field(field(info, 'time'), 'created')),
    model: textOf(field(info, 'modelID')),
    project: projectOf(field(field(info, 'path'), 'cwd')),
    length: thread.fit(input),
    history: thread.messages,
    usage: { input, output: outputOf(tokens, input, reasoning), read, written, written1h: 0 },
  };
}

/** Newer versions count reasoning separately from output, older ones include it; the total shows which. */
function outputOf(tokens: unknown, input: number, reasoning: number): number {
  const output = numberOf(field(tokens, 'output'));
  return numberOf(field(tokens, 'total')) === input + output ? output : output + reasoning;
}
