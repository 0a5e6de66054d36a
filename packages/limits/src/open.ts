import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { attribute, type Reading } from '@mcp-pruner/money/limits/attribution.ts';
import type { Services } from 'mcp-pruner/app/compose.ts';
import type { Guest } from 'mcp-pruner/app/guest.ts';
import { type Answer, name, queryOf } from 'mcp-pruner/app/page/answers.ts';
import { z } from 'zod';
import { SessionMeter } from './meter.ts';
import { readReadings } from './readings.ts';
import { conversationShares, limitsOf, readLimits, usedBy } from './report.ts';
import { readSeam } from './seam.ts';
import { StatusFigures } from './status.ts';
import { LimitWatch } from './watch.ts';

/** Answers after which readings are added up, whether or not there is a status line. */
const FOLDED_AFTER = 500;

export async function openLimits(services: Services): Promise<Guest> {
  const { store, clock, behind, failures, settings } = services;
  const prices = pricesOf(settings);
  const onFailure = failures.of({ extension: 'limits of a subscription could not be noted' });
  const meter = new SessionMeter(prices);
  let answered = 0;
  const watch = new LimitWatch({
    sql: store.sql,
    salt: () => store.id(),
    clock,
    behind,
    onAnswered: (request) => {
      meter.record(request);
      if (++answered % FOLDED_AFTER === 0) void refresh();
    },
    onRejected: (reading) =>
      void logRejected(services, reading).catch((cause: unknown) => onFailure('limits_not_read', cause)),
    onFailure,
  });
  const status = new StatusFigures(services, watch, meter);
  const refresh = (): Promise<void> => status.refresh().catch((cause: unknown) => onFailure('limits_not_read', cause));
  void refresh(); // the first status line should not wait for what an earlier process has not read
  return {
    name: 'limits',
    rows: {
      gauges: [watch.gauge()],
      readings: { limits: limitsOnPage(services, watch, status) },
      figures: {
        '/statusline': (query, project) => status.of(query.get('session'), project),
        '/searchable': (query, project) => status.searchable(query.get('session'), project),
      },
    },
    ended: (exchange) => watch.ended(exchange),
    limits: {
      usedBy: async (requestIds, sinceMs) => {
        await watch.flush();
        return usedBy(store.sql, new Set(requestIds), clock.nowMs(), sinceMs);
      },
      now: async () => {
        await watch.flush();
        return {
          ...(await readLimits(store.sql, clock.nowMs())),
          seam: await readSeam(store.ledger, prices, clock.nowMs()),
        };
      },
    },
    close: () => status.close().catch((cause: unknown) => onFailure('limits_not_read', cause)),
  };
}

const PAGE_QUERY = z.object({ conversation: name.optional() });

function limitsOnPage({ store, clock }: Services, watch: LimitWatch, status: StatusFigures): Answer {
  return async (req) => {
    const { conversation } = queryOf(req, PAGE_QUERY);
    const nowMs = clock.nowMs();
    await watch.flush();
    return conversation === undefined
      ? readLimits(store.sql, nowMs)
      : {
          shares: await conversationShares(store.sql, conversation, nowMs),
          context: await status.contextOf(conversation),
          finished: await status.finishedOf(conversation),
        };
  };
}

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
