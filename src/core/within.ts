/**
 * What work gives, or `null` when it takes longer than `ms` milliseconds; it goes on then and nobody hears of its end.
 *
 * @param onLate - told when it fails after that
 */
export async function within<T>(work: Promise<T>, ms: number, onLate: (cause: unknown) => void): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  let isLate = false;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => {
      isLate = true;
      resolve(null);
    }, ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch((cause: unknown) => {
      if (isLate) onLate(cause);
    });
  }
}
