/** The state of one window of a subscription, as the provider reported it. */
interface WindowReading {
  /** `5h`, `7d`, `7d_opus`, …: length, optionally with a scope. */
  readonly window: string;
  readonly minutes: number;
  /** Used share in millionths of the window; may exceed a million. */
  readonly used: number;
  /** Time of the next reset, in epoch seconds. */
  readonly resetsS: number;
  /** `allowed`, `allowed_warning`, `rejected`, …; `null` if not reported. */
  readonly status: string | null;
}

/** The state of all windows of a subscription in one answer. */
export interface LimitReading {
  readonly provider: 'anthropic' | 'openai';
  /** The provider's account id in the answer, or `''`. */
  readonly accountId: string;
  /** Name of the subscription plan; `null` if not reported. */
  readonly plan: string | null;
  readonly windows: readonly WindowReading[];
}

/** Millionths: the unit in which shares are stored and added, so that sums are exact. */
export const UNITS = 1_000_000;
/** Maximum number of windows per account; further ones are ignored. */
const MAX_WINDOWS = 12;
const MAX_NAME_CHARS = 60;
/** Largest plausible figures: a window used a thousand times over, of ten years, that ends in the year 2100. */
const MAX_USED = 1_000 * UNITS;
const MAX_MINUTES = 5_256_000;
const MAX_RESET_S = 4_102_444_800;
/** Maximum length of a reported state of limits, in bytes. */
const MAX_EVENT_BYTES = 16 * 1024;

const UNIFIED = 'anthropic-ratelimit-unified-';
const UTILIZATION = '-utilization';
const USED_PERCENT = '-used-percent';
const POSITIONS = ['primary', 'secondary'] as const;

/** The fields of an answer about limits, by lower-case name. */
type Fields = ReadonlyMap<string, string>;

/**
 * Reads subscription limits from the fields of an answer. Missing, empty and non-numeric fields are ignored.
 *
 * @param fields - name, value, name, value, …
 * @param nowS - start of the answer, in epoch seconds
 * @returns `null` if the answer reports no limits
 */
export function limitsInFields(fields: readonly string[], nowS: number): LimitReading | null {
  const known = new Map<string, string>();
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? '';
    const first = name.charCodeAt(0) | 32;
    if (first !== 0x61 && first !== 0x78) continue; // neither `anthropic-…` nor `x-…`
    known.set(name.toLowerCase(), (fields[i + 1] ?? '').trim());
  }
  const ofAnthropic = anthropicWindows(known);
  if (ofAnthropic.length > 0) {
    const accountId = known.get('anthropic-organization-id') ?? '';
    return { provider: 'anthropic', accountId, plan: null, windows: ofAnthropic };
  }
  const ofCodex = codexWindows(known, nowS);
  if (ofCodex.length === 0) return null;
  return { provider: 'openai', accountId: '', plan: nameIn(known.get('x-codex-plan-type')), windows: ofCodex };
}

/** Reads the limits of a `codex.rate_limits` event. @returns `null` if the event reports no limits */
export function limitsInEvent(frame: Buffer, nowS: number): LimitReading | null {
  if (frame.length > MAX_EVENT_BYTES) return null;
  const event = objectIn(parsed(frame));
  const limits = objectIn(event?.rate_limits);
  if (!event || !limits || event.type !== 'codex.rate_limits') return null;
  const limit = limitName(event.metered_limit_name) ?? limitName(event.limit_name) ?? '';
  return readingOf(limits, limit, event.plan_type, nowS);
}

/**
 * Reads the limits in a `token_count` line of a Codex rollout.
 *
 * @param limits - its `rate_limits`
 * @param nowS - epoch seconds of the line
 * @returns `null` if the line reports no limits
 */
export function limitsInRollout(limits: unknown, nowS: number): LimitReading | null {
  const known = objectIn(limits);
  if (!known) return null;
  return readingOf(known, limitName(known.limit_id) ?? limitName(known.limit_name) ?? '', known.plan_type, nowS);
}

/** @param limit - name of a separate limit; `''` for the plan's limit */
function readingOf(
  limits: Readonly<Record<string, unknown>>,
  limit: string,
  plan: unknown,
  nowS: number,
): LimitReading | null {
  const isRejected = limits.limit_reached === true || limits.allowed === false;
  const windows = POSITIONS.flatMap((position) => {
    const window = objectIn(limits[position]);
    if (!window) return [];
    // rollouts use `resets_…`, events `reset_…`
    const at = numberOf(window.reset_at ?? window.resets_at);
    const after = numberOf(window.reset_after_seconds ?? window.resets_in_seconds);
    const [used, minutes] = [numberOf(window.used_percent), numberOf(window.window_minutes)];
    const reading = codexWindow(used, minutes, resetOf(at, after, nowS), limit);
    return reading ? [{ ...reading, status: statusOf(reading, isRejected, limits.allowed === true) }] : [];
  });
  if (windows.length === 0) return null;
  return { provider: 'openai', accountId: '', plan: nameIn(plan), windows };
}

function anthropicWindows(fields: Fields): WindowReading[] {
  const windows: WindowReading[] = [];
  const ofAll = fields.get(`${UNIFIED}status`);
  const claim = CLAIMS.get(fields.get(`${UNIFIED}representative-claim`) ?? '');
  for (const [name, value] of fields) {
    if (!name.startsWith(UNIFIED) || !name.endsWith(UTILIZATION) || windows.length >= MAX_WINDOWS) continue;
    const window = name.slice(UNIFIED.length, -UTILIZATION.length);
    const minutes = minutesOf(window);
    const used = numberIn(value);
    const resetsS = numberIn(fields.get(`${UNIFIED}${window}-reset`));
    if (minutes === null || used === null || resetsS === null || window.length > MAX_NAME_CHARS) continue;
    const status = fields.get(`${UNIFIED}${window}-status`) || (window === claim && ofAll) || null;
    const figures = { minutes, used: Math.round(used * UNITS), resetsS: Math.round(resetsS) };
    if (isPlausible(figures)) windows.push({ window, ...figures, status });
  }
  return windows;
}

/** Window names in `representative-claim`. */
const CLAIMS: ReadonlyMap<string, string> = new Map([
  ['five_hour', '5h'],
  ['seven_day', '7d'],
  ['seven_day_opus', '7d_opus'],
  ['seven_day_sonnet', '7d_sonnet'],
]);

const MINUTES = { m: 1, h: 60, d: 1440 } as const;

/** The length in a window's name, such as `7d_opus`; `null` if there is none. */
function minutesOf(window: string): number | null {
  const [, count, unit] = /^(\d{1,5})([mhd])(?:[_-]|$)/.exec(window) ?? [];
  return count === undefined ? null : Number(count) * MINUTES[unit as keyof typeof MINUTES];
}

/** Windows of all limits of a Codex login: `x-codex-…`, and `x-<limit>-…` for separately named limits. */
function codexWindows(fields: Fields, nowS: number): WindowReading[] {
  const windows: WindowReading[] = [];
  const reached = fields.get('x-codex-rate-limit-reached-type');
  for (const [name, value] of fields) {
    if (!name.startsWith('x-') || !name.endsWith(USED_PERCENT) || windows.length >= MAX_WINDOWS) continue;
    const prefix = name.slice(0, -USED_PERCENT.length);
    const position = POSITIONS.find((one) => prefix.endsWith(`-${one}`));
    if (position === undefined) continue;
    const id = prefix.slice(2, -position.length - 1);
    const after = numberIn(fields.get(`${prefix}-reset-after-seconds`));
    const resetsS = resetOf(numberIn(fields.get(`${prefix}-reset-at`)), after, nowS);
    const minutes = numberIn(fields.get(`${prefix}-window-minutes`));
    const reading = codexWindow(numberIn(value), minutes, resetsS, limitName(id) ?? '');
    const isKnown = windows.some(({ window }) => window === reading?.window);
    if (reading && !isKnown) windows.push({ ...reading, status: statusOf(reading, Boolean(reached), false) });
  }
  return windows;
}

/** @param limit - name of a separate limit; `''` for the plan's limit */
function codexWindow(
  percent: number | null,
  minutes: number | null,
  resetsS: number | null,
  limit: string,
): Omit<WindowReading, 'status'> | null {
  if (percent === null || minutes === null || minutes <= 0 || resetsS === null) return null;
  const window = limit === '' ? lengthName(minutes) : `${lengthName(minutes)}_${limit}`;
  const figures = { minutes: Math.round(minutes), used: Math.round((percent * UNITS) / 100), resetsS };
  return isPlausible(figures) ? { window, ...figures } : null;
}

function isPlausible({ minutes, used, resetsS }: Pick<WindowReading, 'minutes' | 'used' | 'resetsS'>): boolean {
  return minutes <= MAX_MINUTES && used <= MAX_USED && resetsS <= MAX_RESET_S;
}

/** Status of a window: a used-up one is `rejected` if the answer was. */
function statusOf({ used }: Pick<WindowReading, 'used'>, isRejected: boolean, isAllowed: boolean): string | null {
  if (isRejected && used >= UNITS) return 'rejected';
  return isAllowed ? 'allowed' : null;
}

/** Name of a window by its minutes, which may be exact (300) or not (299). */
function lengthName(minutes: number): string {
  for (const [unit, size] of [
    ['d', 1440],
    ['h', 60],
  ] as const) {
    const count = Math.round(minutes / size);
    if (count > 0 && Math.abs(count * size - minutes) <= minutes / 100) return `${count}${unit}`;
  }
  return `${Math.round(minutes)}m`;
}

function resetOf(at: number | null, after: number | null, nowS: number): number | null {
  if (at !== null && at > 0) return Math.round(at);
  return after === null ? null : Math.round(nowS + after);
}

/** Name of a separate limit; `null` for the plan's limit. */
function limitName(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const name = value
    .trim()
    .toLowerCase()
    .replace(/[^\w.]+/g, '_')
    .slice(0, MAX_NAME_CHARS);
  return name === '' || name === 'codex' ? null : name;
}

function nameIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_NAME_CHARS) : null;
}

/** Parses a non-negative decimal number. */
function numberIn(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,15}(?:\.\d{1,20})?$/.test(value) ? Number(value) : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
}

function parsed(frame: Buffer): unknown {
  try {
    return JSON.parse(frame.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
