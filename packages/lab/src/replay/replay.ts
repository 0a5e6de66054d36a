import { estimateTokens } from 'mcp-pruner/engine/text/tokens.ts';
import { type Bill, billOf, type Prompt } from './cost.ts';
import {
  identityOf,
  messagesOf,
  type RecordedCall,
  type RecordedMessage,
  type RecordedWire,
  wireOf,
} from './messages.ts';
import { type CallTarget, type EarlierForm, type Use, type UsedLine, usedLines } from './regret.ts';

export interface ReplayParts {
  /** Rewrites a body like the proxy. */
  readonly rewrite: (body: Buffer, wire: RecordedWire, response: unknown) => Promise<Buffer>;
  readonly targetOf: (call: RecordedCall) => CallTarget;
}

/** A logged request, with the model's answer if recorded. */
export interface RecordedRequest {
  readonly body: unknown;
  readonly answer?: RecordedMessage;
  /** The provider's answer, if recorded. */
  readonly response?: unknown;
}

/** Sums over requests; tokens are estimates. */
export interface ReplayTotals {
  conversations: number;
  requests: number;
  /** Number of requests that extend an earlier one. */
  continued: number;
  /** Number of continued requests whose forwarded messages begin with the earlier request's forwarded messages. */
  stable: number;
  /** Number of requests in which the client itself changed the history, for example by a compaction. */
  changedByClient: number;
  /** Number of requests with unknown bodies, which count nowhere else. */
  unreadable: number;
  /** Number of shortened messages. */
  prunedMessages: number;
  tokensBefore: number;
  tokensAfter: number;
  billedBefore: number;
  billedAfter: number;
  readonly uses: Record<Use, { used: number; kept: number; visible: number }>;
  /** Lines that were used later although no received result contained them; at most 1,000. */
  readonly lost: UsedLine[];
}

/** State of a conversation after its newest request. */
interface Open {
  readonly key: string;
  readonly before: Prompt;
  readonly after: Prompt;
  /** The model's answer, in the form of the next request. */
  readonly answer: readonly RecordedMessage[];
  /** Earlier forwarded forms of messages, by index. */
  readonly earlier: ReadonlyMap<number, readonly EarlierForm[]>;
}

const MAX_OPEN = 500;
const MAX_LOST = 1000;

function headTokens(body: object): number {
  const { messages, ...rest } = body as { messages?: unknown; tools?: unknown; functions?: unknown };
  const tools = rest.tools ?? rest.functions;
  return tools === undefined ? 0 : estimateTokens(JSON.stringify(tools));
}

/** Identifies a conversation by its messages up to the first user message. */
function keyOf(messages: readonly RecordedMessage[]): string {
  const user = messages.findIndex(({ role }) => role === 'user');
  return messages
    .slice(0, user + 1)
    .map(identityOf)
    .join('\n');
}

function beginsWith(longer: readonly RecordedMessage[], shorter: readonly RecordedMessage[]): boolean {
  return (
    longer.length >= shorter.length &&
    shorter.every((message, i) => identityOf(message) === identityOf(longer[i] ?? { role: '' }))
  );
}

const NO_FORMS: Open['earlier'] = new Map();

/** Earlier forms of messages, extended by messages that the new request forwards differently. */
function earlierForms({ after: { messages }, earlier }: Open, sent: readonly RecordedMessage[]): Open['earlier'] {
  const changed = messages.flatMap((message, i) => (identityOf(message) === identityOf(sent[i] ?? message) ? [] : [i]));
  if (changed.length === 0) return earlier;
  const forms = new Map(earlier);
  for (const i of changed) {
    const form = { until: messages.length, message: messages[i] ?? { role: '' } };
    forms.set(i, [...(forms.get(i) ?? []), form]);
  }
  return forms;
}

/** Replays requests in recorded order. Interleaved conversations are distinguished by their beginnings. */
export class Replay {
  readonly #parts: ReplayParts;
  #open: Open[] = [];
  readonly totals: ReplayTotals = {
    conversations: 0,
    requests: 0,
    continued: 0,
    stable: 0,
    changedByClient: 0,
    unreadable: 0,
    prunedMessages: 0,
    tokensBefore: 0,
    tokensAfter: 0,
    billedBefore: 0,
    billedAfter: 0,
    uses: {
      quoted: { used: 0, kept: 0, visible: 0 },
      'edited by number': { used: 0, kept: 0, visible: 0 },
      'read again': { used: 0, kept: 0, visible: 0 },
    },
    lost: [],
  };

  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  /** @throws errors of `rewrite`; the proxy would have forwarded such a body unchanged */
  async add({ body, answer, response }: RecordedRequest): Promise<void> {
    const { totals } = this;
    const messages = messagesOf(body);
    if (messages === null || typeof body !== 'object' || body === null) {
      totals.unreadable++;
      return;
    }
    const raw = Buffer.from(JSON.stringify(body));
    const sent = messagesOf(JSON.parse((await this.#parts.rewrite(raw, wireOf(body), response)).toString('utf8')));
    if (sent === null || sent.length !== messages.length) {
      throw new Error('the forwarded body has a different number of messages than the received one');
    }
    const head = headTokens(body);
    const before: Prompt = { headTokens: head, messages };
    const after: Prompt = { headTokens: head, messages: sent };
    const key = keyOf(messages);
    // a request without a model answer starts a conversation, even if another one began alike
    const opens = messages.every(({ role }) => role !== 'assistant');
    const same = opens ? [] : this.#open.filter((open) => open.key === key);
    const full = same.filter((open) => beginsWith(messages, open.before.messages));
    const previous =
      full.toSorted((a, b) => b.before.messages.length - a.before.messages.length)[0] ?? same.at(-1) ?? null;
    totals.requests++;
    this.#bill(billOf(before, previous?.before ?? null), billOf(after, previous?.after ?? null));
    if (previous === null) totals.conversations++;
    else if (full.length === 0) totals.changedByClient++;
    else {
      totals.continued++;
      if (beginsWith(sent, previous.after.messages)) totals.stable++;
    }
    if (full.length > 0) this.#open = this.#open.filter((open) => open !== previous);
    const earlier = full.length > 0 && previous ? earlierForms(previous, sent) : NO_FORMS;
    this.#open.push({ key, before, after, answer: answer ? [answer] : [], earlier });
    if (this.#open.length > MAX_OPEN) this.#close(this.#open.shift());
  }

  /** Ends all conversations, and finds the lines that they used. */
  finish(): ReplayTotals {
    for (const open of this.#open) this.#close(open);
    this.#open = [];
    return this.totals;
  }

  #bill(before: Bill, after: Bill): void {
    this.totals.tokensBefore += before.tokens;
    this.totals.tokensAfter += after.tokens;
    this.totals.billedBefore += before.billed;
    this.totals.billedAfter += after.billed;
  }

  #close(open: Open | undefined): void {
    if (!open) return;
    const { before, after, answer, earlier } = open;
    before.messages.forEach((message, i) => {
      if (identityOf(message) !== identityOf(after.messages[i] ?? message)) this.totals.prunedMessages++;
    });
    const said = [...before.messages, ...answer];
    for (const used of usedLines(said, [...after.messages, ...answer], this.#parts.targetOf, earlier)) {
      const sum = this.totals.uses[used.use];
      sum.used++;
      if (used.kept) sum.kept++;
      if (used.visible) sum.visible++;
      else if (this.totals.lost.length < MAX_LOST) this.totals.lost.push(used);
    }
  }
}
