const PROBE_MS = 5_000;

/** Checks whether anything answers, with any status. @returns the reason if not */
export async function probe(url: string): Promise<string | null> {
  try {
    const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(PROBE_MS) });
    await response.body?.cancel();
    return null;
  } catch (cause) {
    return reasonOf(cause);
  }
}

function reasonOf(cause: unknown): string {
  for (let error = cause; error instanceof Error; error = error.cause) {
    if ('code' in error && typeof error.code === 'string') return error.code;
  }
  return cause instanceof Error ? cause.name : String(cause);
}

/**
 * Posts JSON and returns the status.
 *
 * @param token - sent as `Authorization: Bearer`
 * @returns the status, or the reason why there is none
 */
export async function postStatus(url: string, body: unknown, token?: string): Promise<number | string> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(PROBE_MS),
    });
    await response.body?.cancel();
    return response.status;
  } catch (cause) {
    return reasonOf(cause);
  }
}
