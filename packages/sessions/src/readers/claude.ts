import { textHash } from 'mcp-pruner/core/hash.ts';
import type { ReportedUsage } from 'mcp-pruner/core/ports/request-facts.ts';
import { UsageFigures } from 'mcp-pruner/wires/dialects/answers/figures.ts';
import { ServedAs } from 'mcp-pruner/wires/dialects/answers/served.ts';
import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { projectOf, type Session, type SessionReader, type SessionRequest, Thread, textOf } from './recorded.ts';

/** The assistant message being read. The file has one line per block. */
interface OpenAnswer {
  readonly key: string;
  readonly blocks: unknown[];
  /** Tool results that arrived before its last block; they are moved after it. */
  readonly results: unknown[];
  readonly request: Omit<SessionRequest, 'usage' | 'reasoning' | 'history' | 'length'>;
  usage: ReportedUsage;
}

interface Conversation {
  readonly thread: Thread;
  answer: OpenAnswer | null;
}

/**
 * Reads a session of Claude Code (`~/.claude/projects/<folder>/<session>.jsonl`): lines of `user` and `assistant` with
 * the message as sent over the wire (with usage in those of `assistant`), and a line `compact_boundary` where the
 * history is restarted. Messages of sub-agents are marked `isSidechain`. Tools may run while the model is still
 * writing, so their results may come between the lines of one message; lines with the same message id and request id
 * belong together.
 */
export class ClaudeSession implements SessionReader {
  readonly #conversations = new Map<string, Conversation>();
  readonly #requests: SessionRequest[] = [];
  readonly #offered = new Set<string>();
  #nameless = 0;
  #id = '';

  line(text: string): void {
    const line = parsed(text); // `undefined` for the incomplete last line of a running session
    this.#id ||= textOf(field(line, 'sessionId'));
    const conversation = this.#conversation(line);
    if (field(line, 'subtype') === 'compact_boundary') {
      this.#finish(conversation);
      conversation.thread.restart();
      return;
    }
    const message = field(line, 'message');
    const content = field(message, 'content');
    const type = field(line, 'type');
    if (type === 'attachment') this.#offer(field(line, 'attachment'));
    if (typeof content !== 'string' && !Array.isArray(content)) return;
    if (type === 'assistant') this.#said(conversation, line, message, content);
    if (type !== 'user') return;
    const { answer, thread } = conversation;
    if (answer !== null && isResult(content)) answer.results.push({ role: 'user', content });
    else {
      this.#finish(conversation);
      thread.add({ role: 'user', content }, false);
    }
  }

  end(): Session {
    for (const conversation of this.#conversations.values()) this.#finish(conversation);
    return { requests: this.#requests, offered: this.#offered, id: this.#id };
  }

  #said(conversation: Conversation, line: unknown, message: unknown, content: unknown): void {
    const named = textOf(field(message, 'id'));
    const id = named || this.#namelessId(line, content);
    const requestId = textOf(field(line, 'requestId'));
    const key = `${id}\n${requestId}`;
    const usage = usageOf(field(message, 'usage'));
    const blocks: unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
    const shown = blocks.filter((block) => !THOUGHTS.has(textOf(field(block, 'type'))));
    if (conversation.answer?.key === key) {
      conversation.answer.blocks.push(...shown);
      conversation.answer.usage = usage; // each line reports the running total
      return;
    }
    this.#finish(conversation);
    conversation.answer = {
      key,
      blocks: shown,
      results: [],
      usage,
      request: {
        key,
        answer: named === '' ? undefined : { id: named, bare: requestId === '' },
        thread: this.#nameOf(line),
        atMs: Date.parse(textOf(field(line, 'timestamp'))) || 0,
        wire: 'messages',
        model: textOf(field(message, 'model')),
        project: projectOf(field(line, 'cwd')),
      },
    };
  }

  /** A fork copies lines with their times, but may give them ids of its own. */
  #namelessId(line: unknown, content: unknown): string {
    const timestamp = textOf(field(line, 'timestamp'));
    return timestamp === ''
      ? textOf(field(line, 'uuid')) || `line ${this.#nameless++}`
      : textHash(`${timestamp}\n${JSON.stringify(content)}`);
  }

  /** Ends the answer: completes its request, and appends the results that arrived in the meantime. */
  #finish(conversation: Conversation): void {
    const { answer, thread } = conversation;
    conversation.answer = null;
    if (answer === null) return;
    const { usage } = answer;
    if ((usage.input ?? 0) > 0) {
      const length = thread.fit(usage.input ?? 0);
      this.#requests.push({ history: thread.messages, length, usage, reasoning: null, ...answer.request });
    }
    if (answer.blocks.length > 0) thread.add({ role: 'assistant', content: answer.blocks }, true);
    for (const result of answer.results) thread.add(result, false);
  }

  #conversation(line: unknown): Conversation {
    const name = this.#nameOf(line);
    const known = this.#conversations.get(name) ?? { thread: new Thread(), answer: null };
    this.#conversations.set(name, known);
    return known;
  }

  #nameOf(line: unknown): string {
    return field(line, 'isSidechain') === true ? `side ${textOf(field(line, 'agentId'))}` : 'main';
  }

  #offer(attachment: unknown): void {
    if (field(attachment, 'type') !== 'deferred_tools_delta') return;
    const names = field(attachment, 'addedNames');
    for (const name of Array.isArray(names) ? names : []) {
      if (this.#offered.size < MAX_OFFERED) this.#offered.add(textOf(name));
    }
  }
}

const MAX_OFFERED = 2_000;
/** Thinking blocks are skipped, because they are signed and contain no tool results. */
const THOUGHTS: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking']);

function isResult(content: unknown): boolean {
  return Array.isArray(content) && content.some((block) => field(block, 'type') === 'tool_result');
}

function usageOf(usage: unknown): ReportedUsage {
  const figures = new UsageFigures();
  figures.add(usage);
  const served = new ServedAs();
  served.addFrom({ usage });
  const reported = figures.sum();
  return {
    input: reported?.promptTokens ?? 0,
    output: reported?.completionTokens ?? 0,
    read: reported?.cachedTokens ?? 0,
    written: reported?.cacheWriteTokens ?? 0,
    written1h: reported?.cacheWrite1hTokens ?? 0,
    besides: reported?.besides,
    ...served.facts,
  };
}
