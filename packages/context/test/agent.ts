import OpenAI from 'openai';
import { contentAt, type Message, messagesOf, toolTurn } from '../../../test/helpers/chat.ts';
import type { FakeUpstream } from '../../../test/helpers/fake-upstream.ts';
import type { RpcAnswer } from '../../../test/helpers/proxy.ts';

export interface Candidate {
  readonly segment_id: string;
  readonly score: number;
  readonly tokens: number;
  readonly reason: string;
  readonly segment_type: string;
  readonly age_hours: number;
}

export interface Analysis {
  readonly pruning_candidates: readonly Candidate[];
  readonly total_candidates: number;
  readonly estimated_tokens_freed: number;
  readonly pruning_plan?: { readonly segments: readonly Candidate[]; readonly estimated_tokens_freed: number };
  readonly message?: string;
  readonly warning?: string;
  readonly error?: string;
}

export interface Pruned {
  readonly pruned_segments: readonly string[];
  readonly tokens_freed: number;
  readonly action: string;
  readonly errors: readonly string[];
}

/** A proxy, wherever it runs. */
export interface Endpoint {
  readonly url: string;
  call(name: string, args: object): Promise<RpcAnswer>;
}

/** An agent that works through the proxy with the official client, and keeps its conversation as agents do. */
export class Agent {
  readonly messages: Message[];
  readonly #upstream: FakeUpstream;
  readonly #headers: Record<string, string>;
  #proxy: Endpoint;
  #calls = 0;

  constructor(proxy: Endpoint, upstream: FakeUpstream, headers: Record<string, string> = {}, messages?: Message[]) {
    this.#proxy = proxy;
    this.#upstream = upstream;
    this.#headers = headers;
    this.messages = messages ?? [
      { role: 'system', content: 'You are a careful engineer.' },
      {
        role: 'user',
        content: 'Why does the checkout fail for some customers? Find the failing payment and repair it.',
      },
    ];
  }

  /** The same conversation through another proxy. */
  moveTo(proxy: Endpoint): void {
    this.#proxy = proxy;
  }

  /** A tool was called and answered. Returns the index of its result. */
  tool(name: string, args: object, content: unknown, said: string | null = null): number {
    this.#calls++;
    this.messages.push(...toolTurn(`call_${this.#calls}`, name, args, content, said));
    return this.messages.length - 1;
  }

  say(role: 'user' | 'assistant', content: unknown): number {
    this.messages.push({ role, content });
    return this.messages.length - 1;
  }

  /** Some turns of little weight, so that what stood before is no longer new. */
  chatter(turns = 4): void {
    for (let i = 0; i < turns; i++) this.tool('note', { step: `${this.#calls} of many` }, `step ${this.#calls} noted`);
  }

  /** Sends the conversation; returns the bytes that reached the upstream. */
  async send(model = 'gpt-test'): Promise<Buffer> {
    const client = new OpenAI({ apiKey: 'sk-test', baseURL: `${this.#proxy.url}/v1`, maxRetries: 0 });
    const messages = this.messages as unknown as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming['messages'];
    await client.chat.completions.create({ model, messages }, { headers: this.#headers });
    return this.#upstream.last.body;
  }

  /** Sends, and returns what the upstream got as the content of one message. */
  async sendAndSee(index: number): Promise<string> {
    return contentAt(await this.send(), index);
  }

  analyze(args: object = {}): Promise<Analysis> {
    return call(this.#proxy, 'context_gc_analyze', args);
  }

  prune(ids: readonly string[], action: 'stash' | 'delete' = 'stash', more: object = {}): Promise<Pruned> {
    return call(this.#proxy, 'context_gc_prune', { segment_ids: ids, action, ...more });
  }

  pin(ids: readonly string[], more: object = {}): Promise<{ pinned_segments: string[]; errors: string[] }> {
    return call(this.#proxy, 'context_gc_pin', { segment_ids: ids, ...more });
  }

  unpin(ids: readonly string[], more: object = {}): Promise<{ unpinned_segments: string[]; errors: string[] }> {
    return call(this.#proxy, 'context_gc_unpin', { segment_ids: ids, ...more });
  }

  /** The candidate that a text of its reason tells apart. */
  async candidate(reason: string | RegExp, args: object = {}): Promise<Candidate> {
    const { pruning_candidates } = await this.analyze(args);
    const found = pruning_candidates.filter((one) =>
      typeof reason === 'string' ? one.reason.includes(reason) : reason.test(one.reason),
    );
    if (found.length !== 1 || !found[0]) {
      throw new Error(`${found.length} candidates for ${reason}: ${JSON.stringify(pruning_candidates, null, 1)}`);
    }
    return found[0];
  }
}

async function call<T>(proxy: Endpoint, name: string, args: object): Promise<T> {
  const { result, error } = await proxy.call(name, { project_id: 'default', ...args });
  if (!result) throw new Error(`${name}: ${JSON.stringify(error)}`);
  return JSON.parse(result.content[0]?.text ?? '') as T;
}

/** Roles, ids of calls and everything else of the messages but the texts. */
export function skeleton(body: Buffer): object[] {
  return messagesOf(body).map(({ content, ...rest }) => ({
    ...rest,
    kind: Array.isArray(content) ? 'parts' : typeof content,
  }));
}
