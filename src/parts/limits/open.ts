import type { Services } from '../../app/compose.ts';
import type { OpenPart } from '../../app/part.ts';
import { attribute } from './attribution.ts';
import { type Reading, readReadings } from './readings.ts';
import { limitsOf } from './report.ts';
import { LimitWatch } from './watch.ts';

/** Observes the limits of subscriptions. */
export async function openLimits(services: Services): Promise<OpenPart> {
  const { store, clock, behind, failures } = services;
  const onFailure = failures.of({ extension: 'limits of a subscription could not be noted' });
  const watch = new LimitWatch({
    sql: store.sql,
    salt: () => store.id(),
    clock,
    behind,
    onRejected: (reading) =>
      void logRejected(services, reading).catch((cause: unknown) => onFailure('limits_not_read', cause)),
    onFailure,
  });
  return { answers: watch, gauges: [watch.gauge()], close: () => watch.flush() };
}

/** Logs which limit refused a request, and which session used most of it. */
async function logRejected({ store, clock, log }: Services, { account, window, provider }: Reading): Promise<void> {
  const nowMs = clock.nowMs();
  const { accounts } = limitsOf(attribute(await readReadings(store.sql, nowMs)), nowMs, null);
  const windows = accounts.find((one) => one.account === account)?.windows ?? [];
  const shown = windows.find((one) => one.window === window);
  const [most] = shown?.sessions ?? [];
  log.warn(
    {
      ...{ provider, account, window, used: shown?.used, resetsAt: shown?.resetsAt },
      ...(most && { session: most.session, sessionUsed: most.used }),
    },
    "a subscription's limit is used up: the provider refuses requests until it begins anew",
  );
}
