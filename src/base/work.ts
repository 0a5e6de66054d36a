/**
 * Work that waits only where it must. It yields each promise that it waits for and receives the result; what is known
 * at once takes no promise. Generators call each other with `yield*`.
 */
export type Work<T> = Generator<Promise<unknown>, T, unknown>;

/** Waits for a value that may be a promise. */
export function* waitFor<T>(value: T | Promise<T>): Work<T> {
  return value instanceof Promise ? ((yield value) as T) : value;
}

/** Runs work to its end. A promise is returned only if it has to wait. Throws what the work throws before it waits. */
export function run<T>(work: Work<T>): T | Promise<T> {
  const step = work.next();
  return step.done === true ? step.value : finish(work, step.value);
}

/** Like `run`, but always with a promise, which rejects with what the work throws. */
export async function started<T>(work: Work<T>): Promise<T> {
  return run(work);
}

async function finish<T>(work: Work<T>, waiting: Promise<unknown>): Promise<T> {
  let step = await next(work, waiting);
  while (step.done !== true) step = await next(work, step.value);
  return step.value;
}

function next<T>(work: Work<T>, waiting: Promise<unknown>): Promise<IteratorResult<Promise<unknown>, T>> {
  return waiting.then(
    (value) => work.next(value),
    (cause: unknown) => work.throw(cause),
  );
}

/** Runs several works concurrently. Fails with the first failure. */
export function* together<T>(works: readonly Work<T>[]): Work<T[]> {
  const [only] = works;
  if (only === undefined) return [];
  if (works.length === 1) return [yield* only];
  const results = works.map(runOrReject);
  return results.some((result) => result instanceof Promise) ? ((yield Promise.all(results)) as T[]) : (results as T[]);
}

/** A later work must not throw while an earlier one waits, whose failure nobody would handle. */
function runOrReject<T>(work: Work<T>): T | Promise<T> {
  try {
    return run(work);
  } catch (cause) {
    return Promise.reject(cause);
  }
}
