import type { ExchangeUsage } from 'mcp-pruner/core/ports/exchange-usage.ts';
import { usageIn } from 'mcp-pruner/proxy/doors/exchange-usage.ts';
import type { BridgeWatch } from 'mcp-pruner/proxy/websocket/bridge.ts';
import { RESPONSE_CREATE, typeOfFrame } from 'mcp-pruner/proxy/websocket/frame-type.ts';
import { AnswerReader } from 'mcp-pruner/wires/dialects/answers/reader.ts';
import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import type { ChildRefusal } from './child-refusal.ts';

interface MeterOptions {
  /** Counts one request. @returns the reason for a refusal, or `null`. Never rejects */
  readonly reserve: () => Promise<ChildRefusal | null>;
  /** Records the usage of each request. Never rejects. */
  readonly settle: (usage: ExchangeUsage) => Promise<void>;
  readonly watch: BridgeWatch;
  /** Sends one of the proxy's own messages to the client. */
  readonly send: (frame: Buffer) => void;
}

const FORBIDDEN = 403;

/** Counts requests in frames, refuses requests beyond a limit, and records their usage. */
export class MeteredFrames implements BridgeWatch {
  readonly #metered: MeterOptions;
  /** Sizes of unanswered requests, oldest first. */
  readonly #waiting: number[] = [];
  #reader = new AnswerReader();
  #bytesOut = 0;

  constructor(metered: MeterOptions) {
    this.#metered = metered;
  }

  async fromClient(data: Buffer, isBinary: boolean): Promise<Buffer | null> {
    const { reserve, send, watch } = this.#metered;
    if (!isBinary && asksNothing(data)) return watch.fromClient(data, isBinary);
    const error = await reserve();
    if (error !== null) {
      send(Buffer.from(JSON.stringify({ type: 'error', status: FORBIDDEN, error })));
      return null;
    }
    this.#waiting.push(data.length);
    const forwarded = await watch.fromClient(data, isBinary);
    if (forwarded === null) this.#waiting.pop(); // the proxy has answered it
    return forwarded;
  }

  fromUpstream(data: Buffer, isBinary: boolean): boolean {
    const passes = this.#metered.watch.fromUpstream(data, isBinary);
    if (!passes || isBinary) return passes; // the proxy resends a request whose error is not forwarded
    this.#reader.event(data);
    this.#bytesOut += data.length;
    if (this.#reader.isOver) this.#answered(false);
    return true;
  }

  closed(clientFirst: boolean): void {
    if (this.#bytesOut > 0) this.#answered(true);
    this.#metered.watch.closed(clientFirst);
  }

  #answered(isCut: boolean): void {
    const bytes = { in: this.#waiting.shift(), out: this.#bytesOut };
    const answer = this.#reader.end();
    this.#reader = new AnswerReader();
    this.#bytesOut = 0;
    if (bytes.in !== undefined) void this.#metered.settle(usageIn(answer, { in: bytes.in, out: bytes.out }, isCut));
  }
}

/**
 * Whether a frame certainly requests no answer: JSON whose first and last `type` fields differ from the request type.
 */
function asksNothing(frame: Buffer): boolean {
  const first = typeOfFrame(frame);
  return first !== '' && first !== RESPONSE_CREATE && field(parsed(frame.toString('utf8')), 'type') === first;
}
