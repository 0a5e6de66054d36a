import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of bodies after which what they left is collected. */
const COLLECT_BYTES = 2 * 1024 * 1024;
/** As large as the space for new objects may grow, both halves: larger ones cost memory and gain no time here. */
const MAX_NEW_SPACE_BYTES = 8 * 1024 * 1024;
/**
 * It grows in collections of ours only. V8 is told so after so many bytes of bodies, for it forgets when a thread
 * starts; a body counts as a 64th of them at least.
 */
const TELL_BYTES = 256 * 1024;
/** How far the heap may grow beyond what lives in it, in per cent of that, until all of it is collected. */
const HEAP_GROWTH_PERCENT = 70;

type Collect = (options: { readonly type: 'minor' }) => unknown;

/**
 * Collects what bodies leave behind. Their bytes lie outside the heap that V8 watches: left alone it notices tens of
 * megabytes later, and then walks all of its heap, again and again, where a look at the newest objects would do. It
 * also keeps V8 from taking several times the memory that lives.
 */
export class BodyGarbage {
  #bytes = 0;
  #untold = TELL_BYTES;
  /** `undefined` until it is needed; `null` where there is none, and then V8 goes its own way. */
  #collect: Collect | null | undefined;

  constructor() {
    setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  }

  /** Before a body comes. */
  expect(): void {
    if (this.#untold < TELL_BYTES || this.#collect === null) return;
    this.#untold = 0;
    growNewSpaceBy(1);
  }

  /** Takes note of a body that is done with. */
  add(bytes: number): void {
    this.#untold += Math.max(bytes, TELL_BYTES / 64);
    this.#bytes += bytes;
    if (this.#bytes < COLLECT_BYTES) return;
    this.#bytes = 0;
    if (this.#collect === undefined) this.#collect = collector();
    if (this.#collect === null || newSpaceBytes() < MAX_NEW_SPACE_BYTES) growNewSpaceBy(2);
    if (this.#collect === null) return;
    this.#collect({ type: 'minor' });
    growNewSpaceBy(1);
  }
}

function newSpaceBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0;
}

function growNewSpaceBy(factor: 1 | 2): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

/** V8's own function, which a flag makes visible to contexts that are made later; `null` where there is none. */
function collector(): Collect | null {
  try {
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('gc');
    return typeof collect === 'function' ? (collect as Collect) : null;
  } catch {
    return null;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
