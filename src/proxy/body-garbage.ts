import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of bodies after which what they left is collected. */
const COLLECT_BYTES = 16 * 1024 * 1024;

type Collect = (options: { readonly type: 'minor' }) => unknown;

/**
 * Collects what bodies leave behind. Their bytes lie outside the heap that V8 watches: left alone it notices tens of
 * megabytes later, and then walks all of its heap, where a look at the newest objects would do.
 */
export class BodyGarbage {
  #bytes = 0;
  #collect: Collect | null | undefined;

  /** Takes note of a body that is done with. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < COLLECT_BYTES) return;
    this.#bytes = 0;
    this.#collect ??= collector();
    this.#collect?.({ type: 'minor' });
  }
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
