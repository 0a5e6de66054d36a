import type { Settings } from '../config/settings.ts';
import { isLoopbackHost } from '../config/warnings.ts';
import { type Allowed, allowedCallers } from '../core/origin.ts';

/** Who may call, as the settings have it. */
export function callersOf({ allowedHosts, allowedOrigins, host }: Settings): Allowed {
  return allowedCallers([...allowedHosts, host], allowedOrigins, !isLoopbackHost(host));
}
