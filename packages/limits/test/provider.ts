/** One window in the books of a provider. */
export interface BookWindow {
  readonly name: string;
  readonly minutes: number;
  /** Exact use in percent. */
  used: number;
  resetsS: number;
}

/**
 * A provider that keeps books of its own about a subscription's limits, and reports them rounded, in the headers of
 * either family or as the event of a WebSocket.
 */
export class LimitBooks {
  readonly windows: BookWindow[];
  readonly organization: string;
  plan = 'pro';
  /** Positions of the windows on the Codex wire; a plan may change them. */
  positions: readonly ('primary' | 'secondary')[] = ['primary', 'secondary'];

  constructor(nowMs: number, organization = 'org-4f1c9d2e-private') {
    const nowS = Math.floor(nowMs / 1000);
    this.organization = organization;
    this.windows = [
      { name: '5h', minutes: 300, used: 0, resetsS: nowS + 5 * 3600 },
      { name: '7d', minutes: 10_080, used: 0, resetsS: nowS + 4 * 86_400 },
    ];
  }

  /** Uses a share of all windows, in percent of the first one. */
  use(percent: number): void {
    for (const [i, window] of this.windows.entries()) window.used += percent / (i + 1);
  }

  /** Windows whose reset has come begin anew. */
  reset(name: string, seconds = 5 * 3600): void {
    for (const window of this.windows) {
      if (window.name !== name) continue;
      window.used = 0;
      window.resetsS += seconds;
    }
  }

  /** What a client sees: whole percent. */
  shown(name: string): number {
    return Math.floor(this.windows.find((window) => window.name === name)?.used ?? 0);
  }

  anthropic(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    const headers: Record<string, string> = {
      'anthropic-organization-id': this.organization,
      'anthropic-ratelimit-unified-status': 'allowed',
      'anthropic-ratelimit-unified-overage-status': 'rejected',
      'anthropic-ratelimit-unified-overage-utilization': '0.0',
      'anthropic-ratelimit-requests-remaining': '49',
    };
    for (const { name, resetsS } of this.windows) {
      const prefix = `anthropic-ratelimit-unified-${name}`;
      headers[`${prefix}-utilization`] = (this.shown(name) / 100).toFixed(2);
      headers[`${prefix}-reset`] = String(resetsS);
      headers[`${prefix}-status`] = 'allowed';
    }
    return { ...headers, ...more };
  }

  codex(nowMs: number, reset: 'at' | 'after' = 'at'): Record<string, string> {
    const headers: Record<string, string> = { 'x-codex-plan-type': this.plan };
    for (const [i, { name, minutes, resetsS }] of this.windows.entries()) {
      const prefix = `x-codex-${this.positions[i]}`;
      headers[`${prefix}-used-percent`] = String(this.shown(name));
      headers[`${prefix}-window-minutes`] = String(minutes);
      if (reset === 'at') headers[`${prefix}-reset-at`] = String(resetsS);
      else headers[`${prefix}-reset-after-seconds`] = String(Math.round(resetsS - nowMs / 1000));
    }
    return headers;
  }

  event(limit?: { readonly limit_name: string }): string {
    const windows = this.windows.map(({ name, minutes, resetsS }, i) => [
      this.positions[i],
      { used_percent: this.shown(name), window_minutes: minutes, reset_at: resetsS },
    ]);
    const rate_limits = { allowed: true, limit_reached: false, ...Object.fromEntries(windows) };
    const credits = { has_credits: false, unlimited: false, balance: null };
    return JSON.stringify({ type: 'codex.rate_limits', plan_type: this.plan, rate_limits, credits, ...limit });
  }
}
