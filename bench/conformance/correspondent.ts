import { digest, firstChange, plain } from './chain.ts';
import { hasSummary } from './summaries.ts';
import type { Break, Json, Script, Wire } from './types.ts';

/** What the upstream knows of one agent, which names itself in a field that proxies forward. */
export class Correspondent {
  readonly id: string;
  readonly wire: Wire;
  /** Whether its model checks the history. */
  checks: boolean;
  script: Script = { calls: [], says: '', fails: [], hangs: false, forgets: false };
  /** What its model says to a request. @param _body - with the whole history */
  says: (_body: Json) => Pick<Script, 'calls' | 'says'> = () => this.script;
  /** The last answer: messages of the assistant, or items. */
  answer: Json[] = [];
  answerId = '';
  requests = 0;
  /** The client's request that is being answered; `''` if unknown. */
  from = '';
  /** Blocks of reasoning that were sent back, in all requests together. */
  reasoning = 0;
  /** Requests that began with a summary of the provider. */
  swapped = 0;
  /** Tokens that the provider reports. @param _messages - number of messages @param _isTurn - not for a summary */
  tokensOf: (_messages: number, _isTurn: boolean) => number = () => 0;
  /** Summaries are made: what was thought with one goes with it, when another model is asked. */
  hasSummaries = false;
  /** Numbers of the requests with a summary that the provider refuses. */
  refuses: ReadonlySet<number> = new Set();
  #withSummary = 0;
  /** Requests with a summary that were refused. */
  refused = 0;
  readonly breaks: Break[] = [];
  /** Which model thought behind a history, without a summary, by the hash of that history. */
  readonly thought = new Map<string, string>();
  /** Results as they were forwarded last, by the ids of their calls. */
  readonly results = new Map<string, string>();
  /** What was stored of it is lost, and nothing was accepted since. */
  #isLost = false;
  #texts: readonly string[] = [];
  #head = '';
  #ids = 0;

  constructor(id: string, wire: Wire, checks: boolean) {
    this.id = id;
    this.wire = wire;
    this.checks = checks;
  }

  /** Counts requests with a summary, and refuses some of them. */
  refusesSummary(body: Json): boolean {
    const isRefused = hasSummary(body) && this.refuses.has(++this.#withSummary);
    if (isRefused) this.refused++;
    return isRefused;
  }

  /** An id that no other agent gets, and that is the same in each run of a plan. */
  nextId(kind: string): string {
    return `${kind}_${this.id}_${++this.#ids}`;
  }

  /** Forgets what was sent: the client itself begins anew. */
  rewrite(): void {
    this.#texts = [];
    this.#head = '';
  }

  /** The proxy lost its store: a refusal says that the history was pruned, and it can give back what is sent again. */
  loseStore(): void {
    this.#isLost = true;
    this.results.clear();
  }

  /**
   * Compares a request with the one before, and notes the first change.
   *
   * @param texts - each item in one spelling
   * @param effect - what the provider does about the change; `null`: it has noticed none
   */
  compare(head: unknown, texts: readonly string[], effect: Break['effect'] | null): void {
    if (this.#isLost && effect === 'refused') return;
    this.#isLost = false;
    const headText = JSON.stringify(plain(head));
    const at = firstChange(this.#texts, texts);
    const headChanged = this.#head !== '' && this.#head !== headText;
    if (effect !== null || headChanged || at >= 0) {
      const [was = '', is = ''] = at >= 0 ? [this.#texts[at], texts[at]] : headChanged ? [this.#head, headText] : [];
      const where = differenceOf(was, is);
      const [from, to] = [was.slice(where, where + 160), is.slice(where, where + 160)];
      this.note(effect ?? 'changed', { item: at, was: from, is: to });
    }
    this.#head = headText;
    this.#texts = texts;
  }

  /** Notes that a model no longer finds what it thought behind a history. */
  noteMissing(model: unknown, before: string, item: number): void {
    if (this.thought.get(before) === model) this.note('dropped', { item, was: 'its own thinking', is: 'none' });
  }

  note(effect: Break['effect'], about: Pick<Break, 'item' | 'was' | 'is'>): void {
    const { id: agent, wire, requests: request, checks: checked, from } = this;
    this.breaks.push({ agent, wire, request, effect, checked, ...about, ...(from !== '' && { from }) });
  }
}

function differenceOf(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return Math.max(0, at - 40);
}

/** A name for an agent in a run of the kit that differs from all others. */
export function runName(seed: number, index: number): string {
  return `s${seed}-${digest(String(seed), String(index)).slice(0, 6)}-${index}`;
}
