import { DecisionCache } from 'mcp-pruner/core/decide/decision-cache.ts';
import { DecisionMaker } from 'mcp-pruner/core/decide/decision-maker.ts';
import { Turns } from 'mcp-pruner/core/decide/turns.ts';
import type { SumGroup } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { HeadSums, RequestScope } from 'mcp-pruner/core/ports/segments.ts';
import { RequestPipeline } from 'mcp-pruner/core/request/pipeline.ts';
import { always, PRUNE } from 'mcp-pruner/core/request/policy.ts';
import { RefusedConversations } from 'mcp-pruner/core/request/provider-verdicts.ts';
import type { ReadForObservers } from 'mcp-pruner/core/request/request.ts';
import type { RewrittenRequest } from 'mcp-pruner/core/request/rewritten.ts';
import { StoredMarks } from 'mcp-pruner/core/result-marks.ts';
import { SeenReader } from 'mcp-pruner/core/seen/reader.ts';
import { DirectiveBook } from 'mcp-pruner/core/segments/directive-book.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { openaiChat } from 'mcp-pruner/wires/dialects/openai-chat/dialect.ts';
import { chatBody, type Message, toolTurn } from '../../../test/helpers/chat.ts';
import { manualClock, openStore, TTL_MS } from '../../../test/helpers/rewriter.ts';
import type { Analysis, AnalyzeInput, RatedSegment } from '../src/analyze.ts';
import { ContextBudget } from '../src/budget.ts';
import { ColdBooks } from '../src/cold/books.ts';
import { ColdMoments } from '../src/cold/cold-moments.ts';
import { ColdStash } from '../src/cold/cold-stash.ts';
import { LastAnswers } from '../src/cold/last-answers.ts';
import { collectorOf } from '../src/collector.ts';
import { ContextGc } from '../src/context-gc.ts';
import { SegmentObserver } from '../src/observer.ts';
import { PayingSteps } from '../src/paying-steps.ts';
import { Recorder } from '../src/recorder.ts';
import type { TakenStep } from '../src/take-step.ts';

export interface ReplicaParts {
  readonly store?: StoreHandle;
  readonly clock?: ReturnType<typeof manualClock>;
  readonly minPruneChars?: number;
  /** Tokens; 0 for no budget. */
  readonly budget?: number;
  /** Puts old results aside once that pays. */
  readonly paying?: boolean;
  /** Puts old results aside at cold moments. */
  readonly cold?: 'on' | 'measure' | 'off';
  /** The provider is on this machine. */
  readonly isLocal?: boolean;
  readonly neverPruneTool?: (name: string) => boolean;
}

/** Number of replicas so far, which is part of their names. */
let replicas = 0;

/** One process on a store: its pipeline, its memory and its tools. */
export class Replica {
  readonly clock: ReturnType<typeof manualClock>;
  readonly store: StoreHandle;
  readonly recorder: Recorder;
  readonly gc: ContextGc;
  readonly steps: TakenStep[] = [];
  readonly failures: unknown[] = [];
  readonly sums: SumGroup[] = [];
  /** What the head of a request is recorded as, where that differs. */
  sentHead: Partial<HeadSums> = {};
  readonly answers: LastAnswers;
  readonly marks: StoredMarks;
  readonly books: ColdBooks;
  readonly #rewriter: RequestPipeline;
  readonly #seen: SeenReader;

  constructor(parts: ReplicaParts = {}) {
    this.clock = parts.clock ?? manualClock();
    const { clock } = this;
    this.store = parts.store ?? openStore(':memory:', clock);
    const { store } = this;
    const onFailure = (reason: string, cause: unknown): void => void this.failures.push(reason, cause);
    this.recorder = new Recorder({ store: store.segments, clock, onFailure });
    const flush = (): Promise<void> => this.flush();
    this.gc = new ContextGc({
      store: store.segments,
      events: store,
      clock,
      flush,
      onFailure,
    });
    const onStep = (step: TakenStep): void => void this.steps.push(step);
    const tokens = parts.budget ?? 0;
    const options = { store: store.segments, events: store, clock, onStep, onFailure };
    this.answers = new LastAnswers({
      ledger: store.ledger,
      isOn: () => parts.cold !== 'off',
      process: `replica ${++replicas}`,
      onFailure,
    });
    this.marks = new StoredMarks(store);
    const { answers, marks } = this;
    const staying = { ...options, marks };
    const count = (sums: readonly SumGroup[]): void => void this.sums.push(...sums);
    this.books = new ColdBooks({ answers, marks, ledger: store.ledger, clock, count, onFailure });
    const moments = new ColdMoments(answers, () => parts.isLocal === true);
    const cold = (setting: NonNullable<ReplicaParts['cold']>) =>
      new ColdStash({ ...options, settingOf: () => setting, moments, answers, marks, books: this.books });
    const find = {
      minPruneChars: parts.minPruneChars ?? 1_000,
      maxInputChars: 2_000_000,
      limits: { maxPruneRatio: 0.9, minKeepLines: 5 },
      neverPruneTool: parts.neverPruneTool ?? (() => false),
      neverPrunePath: () => false,
    };
    this.#seen = new SeenReader({
      find,
      observers: [new SegmentObserver(this.recorder)],
      turns: new Turns(),
      onFailure,
    });
    this.#rewriter = new RequestPipeline({
      store,
      clock,
      decisions: new DecisionMaker({
        decisionCache: new DecisionCache({ store, clock, ttlMs: TTL_MS, memoBytes: 1_000_000 }),
        timeoutMs: 30_000,
      }),
      refused: new RefusedConversations(store),
      onFailure,
      find,
      render: { annotateLines: false, includeMarkers: true },
      memoBytes: 10_000_000,
      segments: {
        directives: new DirectiveBook(store.segments),
        ...((parts.cold || parts.paying || tokens !== 0) && {
          collector: collectorOf({
            cold: parts.cold && cold(parts.cold),
            budget: tokens === 0 ? undefined : new ContextBudget({ ...staying, tokens }),
            paying: parts.paying
              ? new PayingSteps({ ...staying, ratesOf: () => ({ read: 0.1, write: 1.25 }) })
              : undefined,
            sending: (about) => answers.sending({ ...about, head: () => ({ ...about.head(), ...this.sentHead }) }),
          }),
        }),
      },
    });
  }

  /** Writes the segments of all requests so far. */
  async flush(): Promise<void> {
    await this.#seen.flush();
    await this.recorder.flush();
  }

  /** What a request is rewritten to, once its segments have been taken down. */
  async send(
    messages: readonly Message[],
    scope: Partial<RequestScope> = {},
    dialect = openaiChat,
  ): Promise<RewrittenRequest> {
    const whole = { project: 'default', task: '', requestId: 'req', ...scope };
    const body = chatBody(messages);
    const observed = {
      body,
      dialect,
      scope: whole,
      purpose: 'generate' as const,
      keepsResults: false,
      isOwned: false,
    };
    const request = { ...observed, onRead: (read: ReadForObservers) => this.#seen.add({ ...observed, ...read }) };
    const rewritten = await this.#rewriter.rewrite(request, always({ ...PRUNE, history: 're-prune' }));
    await new Promise((resume) => setImmediate(resume));
    return rewritten;
  }

  analyze(
    over: Partial<Omit<AnalyzeInput, 'roots'>> & { roots?: Partial<AnalyzeInput['roots']> } = {},
  ): Promise<Analysis> {
    const { roots, ...rest } = over;
    return this.gc.analyze({
      project: 'default',
      described: [],
      ...rest,
      roots: { ids: [], said: [], file: '', ...roots },
    });
  }

  /** The candidate whose reason holds a word; `undefined` when there is none. */
  async candidate(word: string, over: Parameters<Replica['analyze']>[0] = {}): Promise<RatedSegment | undefined> {
    return (await this.analyze(over)).candidates.find(({ reason }) => reason.includes(word));
  }
}

/** The messages of an agent at work. */
export class Work {
  readonly messages: Message[];
  #calls = 0;

  constructor(task = 'Find out why the checkout fails for some of the customers, and repair what is wrong.') {
    this.messages = [
      { role: 'system', content: 'You are a careful engineer.' },
      { role: 'user', content: task },
    ];
  }

  /** A call and its result; returns the index of the result. */
  tool(name: string, args: object, content: unknown, said: string | null = null): number {
    this.messages.push(...toolTurn(`call_${++this.#calls}`, name, args, content, said));
    return this.messages.length - 1;
  }

  say(role: 'user' | 'assistant', content: unknown): number {
    this.messages.push({ role, content });
    return this.messages.length - 1;
  }

  /** So many messages of no weight, so that what came before is no longer new. */
  idle(messages: number): void {
    for (let i = 0; i < messages; i += 2) this.tool('noop', { step: this.#calls }, `nothing ${this.#calls}`);
  }
}
