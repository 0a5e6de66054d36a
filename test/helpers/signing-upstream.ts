import { createHash } from 'node:crypto';
import { type Answer, json } from './fake-upstream.ts';
import type { Block, WireMessage } from './messages.ts';

interface Request {
  readonly system?: unknown;
  readonly tools?: unknown;
  readonly messages: readonly WireMessage[];
  readonly stream?: boolean;
  readonly thinking?: { readonly block_binding?: string };
}

/** A model that binds what it thinks to all that it was sent before, and refuses whoever changes that later. */
export class SigningModel {
  /** What it says after thinking; the test sets it before each turn. */
  says: readonly Block[] = [{ type: 'text', text: 'Done.' }];
  /** Further fields of its answers. */
  extra: Readonly<Record<string, unknown>> = {};
  /** Requests refused for a changed past, by where it differs. */
  readonly mismatches: string[] = [];
  /** An error that comes instead of the next answer, whatever was sent. */
  fails: { readonly status: number; readonly body: string } | null = null;
  #answers = 0;

  readonly answer: Answer = (request, res) => {
    const body = JSON.parse(request.body.toString('utf8')) as Request;
    const bindings = bindingsOf(body);
    const at = mismatch(body, bindings);
    if (this.fails) {
      const { status, body: words } = this.fails;
      this.fails = null;
      res.writeHead(status, { 'content-type': 'application/json' }).end(words);
      return;
    }
    if (at !== null && body.thinking?.block_binding === undefined) {
      this.mismatches.push(at);
      json(res, 400, {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message:
            `${at}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation than ` +
            'the one sent. Content before this block differs from what the model received',
        },
      });
      return;
    }
    if (request.url.includes('count_tokens')) {
      json(res, 200, { input_tokens: Math.ceil(request.body.length / 4) });
      return;
    }
    this.#answers++;
    const thought = {
      type: 'thinking',
      thinking: `Thought ${this.#answers}.`,
      signature: bindings.at(-1),
    };
    const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 };
    const dropped = at === null ? {} : { input_transformations: [{ type: 'prefix_binding_mismatch', at }] };
    const message = {
      id: `msg_${this.#answers}`,
      type: 'message',
      role: 'assistant',
      content: [thought, ...this.says],
    };
    json(res, 200, { ...message, usage, ...dropped, ...this.extra });
  };
}

/** Where the first thinking block stands that was made from another conversation, or `null`. */
function mismatch(body: Request, bindings: readonly string[]): string | null {
  for (const [i, { role, content }] of body.messages.entries()) {
    if (role !== 'assistant' || typeof content === 'string') continue;
    const j = content.findIndex(({ type, signature }) => type === 'thinking' && signature !== bindings[i]);
    if (j >= 0) return `messages.${i}.content.${j}`;
  }
  return null;
}

/** Stand for instructions, tools and the first 0, 1, … all messages, without marks for caches and without thinking. */
function bindingsOf({ system, tools, messages }: Request): string[] {
  const hash = createHash('sha256').update(JSON.stringify(plain([system ?? null, tools ?? null])));
  const bindings = [hash.copy().digest('base64')];
  for (const message of messages) {
    bindings.push(
      hash
        .update(JSON.stringify(plain(asBlocks(message))))
        .copy()
        .digest('base64'),
    );
  }
  return bindings;
}

function asBlocks({ role, content }: WireMessage): unknown {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return { role, content: blocks.filter(({ type }) => type !== 'thinking') };
}

/** Keys in one order, without `cache_control`. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([key]) => key !== 'cache_control');
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, plain(inner)]));
}
