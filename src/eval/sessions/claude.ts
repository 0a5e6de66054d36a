import type { ReportedUsage } from '../../core/ports/ledger.ts';
import { field, parsed } from '../../json/value.ts';
import { lostBefore, numberOf, projectOf, type SessionReader, type SessionRequest, textOf } from './recorded.ts';

/** The model's message that is being written: it comes in a line for each of its blocks. */
interface Answer {
  readonly id: string;
  readonly request: Omit<SessionRequest, 'usage'>;
  readonly blocks: unknown[];
  usage: ReportedUsage;
}

interface Thread {
  messages: string[];
  answer: Answer | null;
}

/**
 * Reads a session of Claude Code (`~/.claude/projects/<folder>/<session>.jsonl`): lines of `user` and `assistant` with the
 * message as it went over the wire, usage in the latter, and `compact_boundary` where the history begins anew. What
 * sub-agents say stands beside it under `isSidechain`.
 */
export class ClaudeSession implements SessionReader {
  readonly #threads = new Map<boolean, Thread>();

  line(text: string): readonly SessionRequest[] {
    const line = parsed(text); // nothing in the last line of a session that goes on
    const thread = this.#thread(field(line, 'isSidechain') === true);
    if (field(line, 'subtype') === 'compact_boundary') {
      const ended = this.#finish(thread);
      thread.messages = [];
      return ended;
    }
    const message = field(line, 'message');
    const content = field(message, 'content');
    if (typeof content !== 'string' && !Array.isArray(content)) return [];
    if (field(line, 'type') === 'assistant') return this.#said(thread, line, message, content);
    if (field(line, 'type') !== 'user') return [];
    const ended = this.#finish(thread);
    thread.messages.push(JSON.stringify({ role: 'user', content }));
    return ended;
  }

  end(): readonly SessionRequest[] {
    return [...this.#threads.values()].flatMap((thread) => this.#finish(thread));
  }

  #said(thread: Thread, line: unknown, message: unknown, content: unknown): readonly SessionRequest[] {
    const id = textOf(field(message, 'id'));
    const usage = usageOf(field(message, 'usage'));
    const blocks: unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
    if (thread.answer !== null && thread.answer.id === id) {
      thread.answer.blocks.push(...blocks);
      thread.answer.usage = usage; // each line tells the sum so far
      return [];
    }
    const ended = this.#finish(thread);
    thread.messages.splice(0, lostBefore(thread.messages, usage.input ?? 0));
    const request = {
      atMs: Date.parse(textOf(field(line, 'timestamp'))) || 0,
      wire: 'messages' as const,
      model: textOf(field(message, 'model')),
      project: projectOf(field(line, 'cwd')),
      messages: [...thread.messages],
    };
    thread.answer = { id, request, blocks: [...blocks], usage };
    return ended;
  }

  #finish(thread: Thread): readonly SessionRequest[] {
    const { answer } = thread;
    thread.answer = null;
    if (answer === null) return [];
    thread.messages.push(JSON.stringify({ role: 'assistant', content: answer.blocks }));
    const isReal = (answer.usage.input ?? 0) > 0 && answer.request.messages.length > 0;
    return isReal ? [{ ...answer.request, usage: answer.usage }] : [];
  }

  #thread(isSide: boolean): Thread {
    const known = this.#threads.get(isSide) ?? { messages: [], answer: null };
    this.#threads.set(isSide, known);
    return known;
  }
}

function usageOf(usage: unknown): ReportedUsage {
  const read = numberOf(field(usage, 'cache_read_input_tokens'));
  const written = numberOf(field(usage, 'cache_creation_input_tokens'));
  const written1h = numberOf(field(field(usage, 'cache_creation'), 'ephemeral_1h_input_tokens'));
  const input = numberOf(field(usage, 'input_tokens')) + read + written;
  return { input, output: numberOf(field(usage, 'output_tokens')), read, written, written1h };
}
