import type { ChildRequestUsage } from '../../core/ports/child-gate.ts';
import { field, parsed } from '../../json/value.ts';
import type { ChildRefusal } from '../doors/child-refusal.ts';
import { usageIn } from '../doors/child-usage.ts';
import type { BridgeWatch } from './bridge.ts';
import { isLastEvent, REQUEST, typeOfFrame } from './frame-type.ts';

export interface Metered {
  /** Counts one request. @returns why it may not go on, or `null`. Never rejects */
  readonly reserve: () => Promise<ChildRefusal | null>;
  /** Told what each request came to. Never rejects. */
  readonly settle: (usage: ChildRequestUsage) => Promise<void>;
  /** Looks at what may pass. */
  readonly watch: BridgeWatch;
  /** Sends the client what the upstream did not. */
  readonly tell: (frame: Buffer) => void;
}

const FORBIDDEN = 403;

/** Counts the requests that come in frames, refuses those beyond a limit, and tells what each came to. */
export class MeteredFrames implements BridgeWatch {
  readonly #metered: Metered;
  /** Sizes of the requests that are not answered yet, the oldest first. */
  readonly #waiting: number[] = [];
  #bytesOut = 0;

  constructor(metered: Metered) {
    this.#metered = metered;
  }

  async fromClient(data: Buffer, isBinary: boolean): Promise<Buffer | null> {
    const { reserve, tell, watch } = this.#metered;
    if (!isBinary && asksNothing(data)) return watch.fromClient(data, isBinary);
    const error = await reserve();
    if (error !== null) {
      tell(Buffer.from(JSON.stringify({ type: 'error', status: FORBIDDEN, error })));
      return null;
    }
    this.#waiting.push(data.length);
    return watch.fromClient(data, isBinary);
  }

  fromUpstream(data: Buffer, isBinary: boolean): boolean {
    const passes = this.#metered.watch.fromUpstream(data, isBinary);
    if (!passes || isBinary) return passes; // what does not pass is asked again by the proxy itself
    const type = typeOfFrame(data);
    if (type !== 'error') this.#bytesOut += data.length;
    if (isLastEvent(type)) this.#answered(type === 'error' ? null : data);
    return true;
  }

  closed(clientFirst: boolean): void {
    if (this.#bytesOut > 0) this.#answered(Buffer.alloc(0));
    this.#metered.watch.closed(clientFirst);
  }

  /** @param last - the event that tells what it came to; `null` when it came to nothing */
  #answered(last: Buffer | null): void {
    const [bytesIn, bytesOut] = [this.#waiting.shift(), this.#bytesOut];
    this.#bytesOut = 0;
    if (bytesIn === undefined || last === null) return;
    void this.#metered.settle(usageIn(last.toString('utf8'), bytesIn, bytesOut));
  }
}

/** Whether a frame surely asks for no answer: JSON whose `type` is another one, the last as the first of that name. */
function asksNothing(frame: Buffer): boolean {
  const first = typeOfFrame(frame);
  return first !== '' && first !== REQUEST && field(parsed(frame.toString('utf8')), 'type') === first;
}
