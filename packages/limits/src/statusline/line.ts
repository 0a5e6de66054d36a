import type { LineFigures } from '../line-figures.ts';
import { shortTime } from '../words.ts';

/** Status reported by Claude Code on stdin. Every field may be missing. */
interface ClientStatus {
  readonly sessionId: string | null;
  readonly version: string | null;
  /** Tokens of the last request. */
  readonly tokens: number | null;
  readonly contextWindow: number | null;
  /** Expiry of its cache, in epoch milliseconds. */
  readonly cacheUntilMs: number | null;
  readonly windows: readonly ClientWindow[];
}

interface ClientWindow {
  readonly window: '5h' | '7d';
  readonly minutes: number;
  /** A ratio. */
  readonly used: number;
  readonly resetsAtMs: number | null;
}

/** The parts of a line, in default order. */
export const PARTS = ['ctx', 'cache', 'next', 'seam', '5h', 'week', 'saved'] as const;

const MINUTE_MS = 60_000;
/** Claude Code 2 compacts this number of tokens below its window. */
const CLAUDE_RESERVE = 33_000;
/** Minimum share that is shown. */
const LEAST_SHARE = 0.005;
const LEAST_DOLLARS = 0.005;

interface LineInput {
  readonly client: ClientStatus;
  /** `null` if the proxy did not answer. */
  readonly figures: LineFigures | null;
  readonly nowMs: number;
}

/** Formats the line, skipping parts without figures and unknown ones. Never empty. */
export function lineOf(parts: readonly string[], known: LineInput): string {
  const shown = parts.map((part) => (isPart(part) ? texts[part]?.(known) : null)).filter(Boolean);
  if (shown.length > 0) return shown.join(' · ');
  return known.figures === null ? 'mcp-pruner: no proxy answers' : 'mcp-pruner: no figures yet';
}

const texts: Readonly<Record<string, (known: LineInput) => string | null>> = {
  ctx({ client, figures }) {
    const tokens = client.tokens ?? figures?.context?.tokens ?? null;
    // the client reports 0 between a compaction and the next answer
    if (tokens === null || tokens === 0) return null;
    const limit = thresholdOf(client, figures);
    return limit === null ? `ctx ${thousands(tokens)}` : `ctx ${thousands(tokens)} of ${thousands(limit)}`;
  },
  cache({ client, figures, nowMs }) {
    const until = figures?.context?.cacheUntilMs ?? client.cacheUntilMs;
    if (until === null) return null;
    const seconds = Math.floor((until - nowMs) / 1000);
    return seconds <= 0 ? 'cache cold' : `cache ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  },
  next({ client, figures, nowMs }) {
    const context = figures?.context;
    if (!context?.next || client.tokens === 0) return null;
    const isWarm = context.cacheUntilMs !== null && context.cacheUntilMs > nowMs;
    return `next ${dollars(isWarm ? context.next.warm : context.next.cold)}`;
  },
  seam({ client, figures }) {
    return client.tokens === 0 ? null : (figures?.finished ?? null);
  },
  '5h'(known) {
    const window = windowOf('5h', known);
    if (window === null) return null;
    const own = window.session >= LEAST_SHARE ? ` (this ${(window.session * 100).toFixed(1)})` : '';
    return `5h ${Math.round(window.used * 100)}%${own}`;
  },
  week(known) {
    const window = windowOf('7d', known);
    if (window === null) return null;
    const until = window.usedUpAtMs === null ? '' : ` → ${shortTime(window.usedUpAtMs)}`;
    return `week ${Math.round(window.used * 100)}%${until}`;
  },
  saved({ figures }) {
    const saved = figures?.savedDollars ?? 0;
    return saved >= LEAST_DOLLARS ? `saved ${dollars(saved)}` : null;
  },
  compact({ figures }) {
    const turns = figures?.context?.compactPaysAfter ?? null;
    return turns === null ? null : `compacting pays after ${turns} ${turns === 1 ? 'turn' : 'turns'}`;
  },
};

export const ALL_PARTS: readonly string[] = Object.keys(texts);

export function isPart(name: string): boolean {
  return Object.hasOwn(texts, name);
}

function thresholdOf({ contextWindow, version }: ClientStatus, figures: LineFigures | null): number | null {
  const context = figures?.context;
  if (context?.isLearned && context.threshold !== null) return context.threshold;
  if (contextWindow === null) return context?.threshold ?? null;
  const isKnown = version?.startsWith('2.') === true && contextWindow > 2 * CLAUDE_RESERVE;
  return isKnown ? contextWindow - CLAUDE_RESERVE : contextWindow;
}

/** A window; the client's own figures take precedence and are complemented by the proxy's. */
function windowOf(name: '5h' | '7d', { client, figures, nowMs }: LineInput) {
  const ours = figures?.windows.find(({ window, resetsAtMs }) => window === name && resetsAtMs > nowMs);
  const its = client.windows.find(
    ({ window, resetsAtMs }) => window === name && (resetsAtMs === null || resetsAtMs > nowMs),
  );
  if (its === undefined) return ours ?? null;
  return {
    used: its.used,
    session: ours?.session ?? 0,
    usedUpAtMs: ours === undefined ? averagePace(its, nowMs) : ours.usedUpAtMs,
  };
}

/** When a window will be used up at its average rate so far; `null` if it lasts until the reset. */
function averagePace({ used, minutes, resetsAtMs }: ClientWindow, nowMs: number): number | null {
  if (resetsAtMs === null || used <= 0) return null;
  const elapsedMs = nowMs - (resetsAtMs - minutes * MINUTE_MS);
  const usedUpMs = nowMs + (Math.max(0, 1 - used) * elapsedMs) / used;
  return elapsedMs > 0 && usedUpMs < resetsAtMs ? usedUpMs : null;
}

function thousands(tokens: number): string {
  if (tokens < 1_000) return String(Math.round(tokens));
  return tokens < 999_500 ? `${Math.round(tokens / 1_000)}k` : `${Number((tokens / 1_000_000).toFixed(1))}M`;
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

/** Parses Claude Code's status; other input yields empty fields. */
export function clientStatus(text: string): ClientStatus {
  const input = objectIn(parsed(text));
  const context = objectIn(input.context_window);
  const usage = objectIn(context.current_usage);
  const counts = [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens].map(numberIn);
  const expires = numberIn(objectIn(input.prompt_cache).expires_at);
  const limits = objectIn(input.rate_limits);
  return {
    sessionId: typeof input.session_id === 'string' && input.session_id !== '' ? input.session_id : null,
    version: typeof input.version === 'string' ? input.version : null,
    tokens: counts.some((count) => count !== null)
      ? counts.reduce<number>((sum, count) => sum + (count ?? 0), 0)
      : null,
    cacheUntilMs: expires === null ? null : expires * 1000,
    contextWindow: numberIn(context.context_window_size) || null,
    windows: [
      ...clientWindow('5h', 300, objectIn(limits.five_hour)),
      ...clientWindow('7d', 10_080, objectIn(limits.seven_day)),
    ],
  };
}

function clientWindow(
  window: ClientWindow['window'],
  minutes: number,
  { used_percentage, resets_at }: Readonly<Record<string, unknown>>,
): ClientWindow[] {
  const percent = numberIn(used_percentage);
  if (percent === null) return [];
  const seconds = numberIn(resets_at);
  const resetsAtMs = seconds !== null ? seconds * 1000 : typeof resets_at === 'string' ? Date.parse(resets_at) : null;
  return [{ window, minutes, used: percent / 100, resetsAtMs: Number.isNaN(resetsAtMs) ? null : resetsAtMs }];
}

function numberIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Parses JSON; `null` if invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
