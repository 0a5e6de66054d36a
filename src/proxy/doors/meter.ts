import type { IncomingMessage } from 'node:http';
import type { BudgetGate, Reservation } from '../../core/ports/budgets.ts';
import type { MeteredFacts, RequestFacts } from '../../core/ports/request-facts.ts';
import type { Clock } from '../../core/ports.ts';
import { factsOfUnread } from '../report/ledger-facts.ts';
import type { RequestContext } from '../request-context.ts';
import type { AskedModel } from './asked-model.ts';
import type { MeasuredUsage, UsageWatch } from './exchange-usage.ts';

/** Meters of in-flight requests under a budget. */
export const meters = new WeakMap<IncomingMessage, Meter>();

/** A request with the head of an admitted one, before it is sent, and what measures its usage. */
interface TolledRequest {
  readonly req: IncomingMessage;
  readonly requestId: string;
  readonly body: Buffer;
  readonly usage: Pick<UsageWatch, 'measured'>;
}

/** Meters a further request with the same head at once; `null` if it has to wait, or is refused. */
export type Toll = (request: TolledRequest) => Meter | null;

/** The tolls of requests that the door of budgets admitted. */
export const tolls = new WeakMap<IncomingMessage, Toll>();

interface MeterOptions {
  readonly usage: Pick<UsageWatch, 'measured'>;
  readonly asked: AskedModel;
  readonly cloud: string;
  readonly context: RequestContext;
  readonly ledger: { request(facts: RequestFacts): void };
  readonly clock: Clock;
  readonly budgets: Pick<BudgetGate, 'billed'>;
  readonly place: Reservation;
}

/** Wire name in the ledger for requests that were forwarded unread. */
const UNREAD = 'unread';

/**
 * Meters one request under a budget. If a handler parses the request, the handler's facts are billed with the
 * exchange's usage; otherwise the meter bills it by size.
 */
export class Meter {
  readonly #options: MeterOptions;
  /** Whether a handler will bill the request. */
  #handled = false;
  #status = 0;
  readonly #ended: Promise<void>;
  #end = (): void => {};

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Id under which the request will be billed. */
  get requestId(): string {
    return this.#options.context.requestId;
  }

  /** Marks the request as taken by a handler, which must call `bill` in the end. */
  take(): void {
    this.#handled = true;
  }

  /** Called once the answer has ended. Never rejects. */
  async close(status: number): Promise<void> {
    this.#status = status;
    this.#end();
    const { place } = this.#options;
    const usage = await this.#usage();
    place.settle(this.#dollarsOf(usage), status < 400);
    if (!this.#handled) this.#bill(usage);
  }

  /**
   * Called by the handler, which states whether it has facts to bill. Never rejects.
   *
   * @returns the usage of the finished exchange, to be added to these facts
   */
  async bill(hasFacts: boolean): Promise<MeteredFacts> {
    const usage = await this.#usage();
    if (!hasFacts) this.#bill(usage);
    return { model: usage.model ?? '', output: usage.billed.output ?? 0 };
  }

  async #usage(): Promise<MeasuredUsage> {
    await this.#ended;
    return this.#options.usage.measured(this.#options.asked.bytes);
  }

  /** The dollars that the ledger will bill, by the same models in the same order. */
  #dollarsOf({ billed, model }: MeasuredUsage): number {
    const { budgets, asked, cloud } = this.#options;
    const answered = model === null ? [] : [model];
    const models = this.#handled ? [...asked.models, ...answered] : [...answered, ...asked.models];
    return budgets.billed(models, cloud, billed);
  }

  /** Bills the request by the usage of the exchange, without a conversation. */
  #bill(usage: MeasuredUsage): void {
    const { asked, cloud, context, ledger, clock } = this.#options;
    if (this.#status >= 400 || usage.tokensIn + usage.tokensOut === 0) return;
    const { requestId, scope, keyId } = context;
    const [named = ''] = asked.models;
    const about = { requestId, project: scope.project, wire: UNREAD, cloud, keyId, client: scope.agent };
    ledger.request({
      ...factsOfUnread({ ...about, model: usage.model ?? named }, asked.bytes),
      atMs: clock.nowMs(),
      usage: usage.isReported ? usage.billed : null,
      odd: usage.odd,
      metered: { model: named, output: usage.billed.output ?? 0 },
    });
  }
}
