/** Server-provided facts about the page's viewer. */
export interface Session {
  readonly known: boolean;
  readonly asksForToken: boolean;
  readonly pageToken?: string;
  readonly version?: string;
  readonly nowMs?: number;
  readonly health?: Health;
  readonly has?: { readonly views: readonly string[]; readonly doctor: boolean };
}

interface Health {
  readonly status?: string;
  readonly store?: string;
  readonly mode?: string;
  readonly backend?: string;
  readonly upstream?: string;
}

/** An unsuccessful answer, or no answer at all (`status` 0). */
export class Failure extends Error {
  override readonly name = 'Failure';

  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
  ) {
    super(message);
  }
}

/** Converts anything thrown to a `Failure`. */
export function failureOf(cause: unknown): Failure {
  return cause instanceof Failure ? cause : new Failure(0, 'unknown', messageOf(cause));
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

let pageToken = '';

/** Loads the session, and keeps the token for actions. @throws Failure */
export async function loadSession(): Promise<Session> {
  const session = await get<Session>('session');
  pageToken = session.pageToken ?? '';
  return session;
}

/** @throws Failure */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== null && value !== undefined) params.set(key, String(value));
  const search = params.toString();
  return ask<T>(`/page/api/${path}${search === '' ? '' : `?${search}`}`, { signal });
}

/** Runs an action. Retries once with a new token if a restarted server rejects the old one. @throws Failure */
export async function post<T>(path: string, body: object): Promise<T> {
  const send = (): Promise<T> =>
    ask<T>(`/page/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-mcp-pruner-page': pageToken },
      body: JSON.stringify(body),
    });
  try {
    return await send();
  } catch (cause) {
    if (!(cause instanceof Failure) || cause.type !== 'page_token_needed') throw cause;
    await loadSession();
    return send();
  }
}

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { ...init, credentials: 'same-origin', cache: 'no-store' });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new Failure(0, 'no_answer', 'mcp-pruner does not answer: it has stopped, or is being restarted.');
  }
  if (answer.status === 204) return {} as T;
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return body as T;
  const { type = 'unknown', message = `The server answered ${answer.status}.` } =
    (body as { error?: { type?: string; message?: string } } | null)?.error ?? {};
  throw new Failure(answer.status, type, message);
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
