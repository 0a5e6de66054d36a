import type { ExchangeUsage } from '../../../../core/ports/exchange-usage.ts';
import { usageIn } from '../../../../proxy/doors/exchange-usage.ts';
import type { BridgeWatch } from '../../../../proxy/websocket/bridge.ts';
import { isLastEvent, REQUEST, typeOfFrame } from '../../../../proxy/websocket/frame-type.ts';
import { field, parsed } from '../../../../wires/json/value.ts';
import type { ChildRefusal } from './child-refusal.ts';

export interface Metered {
  /** Counts one request. @returns the reason for a refusal, or `null`. Never rejects */
  readonly reserve: () => Promise<ChildRefusal | null>;
  /** Records the usage of each request. Never rejects. */
  readonly settle: (usage: ExchangeUsage) => Promise<void>;
  /** Observes admitted messages. */
  readonly watch: BridgeWatch;
  /** Sends a message of the proxy's own to the client. */
  readonly send: (frame: Buffer) => void;
}

const FORBIDDEN = 403;

/** Counts the requests in frames, refuses those beyond a limit, and records the usage of each. */
export class MeteredFrames implements BridgeWatch {
  readonly #metered: Metered;
  /** Sizes of unanswered requests, oldest first. */
  readonly #waiting: number[] = [];
  #bytesOut = 0;

  constructor(metered: Metered) {
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
    return watch.fromClient(data, isBinary);
  }

  fromUpstream(data: Buffer, isBinary: boolean): boolean {
    const passes = this.#metered.watch.fromUpstream(data, isBinary);
    if (!passes || isBinary) return passes; // the proxy itself resends a request whose error is not forwarded
    const type = typeOfFrame(data);
    if (type !== 'error') this.#bytesOut += data.length;
    if (isLastEvent(type)) this.#answered(type === 'error' ? null : data);
    return true;
  }

  closed(clientFirst: boolean): void {
    if (this.#bytesOut > 0) this.#answered(Buffer.alloc(0));
    this.#metered.watch.closed(clientFirst);
  }

  /** @param last - the event with the usage; `null` without any */
  #answered(last: Buffer | null): void {
    const [bytesIn, bytesOut] = [this.#waiting.shift(), this.#bytesOut];
    this.#bytesOut = 0;
    if (bytesIn === undefined || last === null) return;
    void this.#metered.settle(usageIn(last.toString('utf8'), bytesIn, bytesOut));
  }
}

/**
 * Whether a frame certainly requests no answer: JSON with another `type`, in its first and its last field of that name.
 */
function asksNothing(frame: Buffer): boolean {
  const first = typeOfFrame(frame);
  return first !== '' && first !== REQUEST && field(parsed(frame.toString('utf8')), 'type') === first;
}
