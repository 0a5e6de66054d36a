import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import type { Services } from 'mcp-pruner/app/compose.ts';
import { requestIds } from 'mcp-pruner/app/context.ts';
import type { Guest } from 'mcp-pruner/app/guest.ts';
import { type Answer, name, queryOf } from 'mcp-pruner/app/page/answers.ts';
import { z } from 'zod';
import { Background, type CompactionResult } from './background.ts';
import { CompactionBook, LOOK_MS } from './book.ts';
import { Pace } from './moment.ts';
import { readMonth } from './month.ts';
import { Seat } from './seat.ts';
import { readConversation } from './shown.ts';

const PAGE_QUERY = z.strictObject({ conversation: name.optional() });
const HEADER_WARNINGS_MS = 3_600_000;

/** Opens the part over the services. */
export async function openSeams(services: Services): Promise<Guest> {
  const { store, clock, settings, log, ledger, failures, projectBook, flushSeen, keepShort, own } = services;
  const prices = pricesOf(settings);
  const onFailure = failures.of({ extension: 'a summary of finished work could not be used' });
  const book = new CompactionBook(store.sql);
  const results = new Map<CompactionResult, number>([
    ['made', 0],
    ['failed', 0],
    ['refused', 0],
  ]);
  const note = (result: CompactionResult): void => void results.set(result, (results.get(result) ?? 0) + 1);
  const background = new Background({
    ...{ settings, book, prices, clock, log, flushSeen, keepShort, onFailure },
    pace: new Pace(store.sql),
    ledger: store.ledger,
    isAlone: () => ledger.isAlone(),
    compactions: store.compactions,
    count: (sums) => ledger.count(sums),
    newId: requestIds(clock),
    onResult: note,
  });
  let warnedMs = Number.NEGATIVE_INFINITY;
  const seat = new Seat({
    ...{ settings, book, background, clock, onFailure },
    settingOf: (project) => projectBook.of(project).seams,
    ledger: store.ledger,
    budgets: services.budgets,
    onUnknownHeader(value) {
      if (clock.nowMs() - warnedMs < HEADER_WARNINGS_MS) return;
      warnedMs = clock.nowMs();
      log.warn({ value }, 'x-mcp-pruner-seams is neither on nor off: ignored');
    },
    onRefused(conversation) {
      note('refused');
      log.warn(
        { conversation },
        'the provider refused its own summary: it is given up, the conversation goes on whole',
      );
    },
  });
  await Promise.all([own.ledger.started.then(() => seat.look()), background.readOff()]);
  const looking = setInterval(() => seat.lookOn(), LOOK_MS).unref();
  return {
    name: 'seams',
    direct: seat,
    rows: {
      readings: { seams: onPage(services, prices) },
      viewed: (projects) => ({ seams: onPage(services, prices, projects) }),
      gauges: [
        {
          name: 'seam_compactions_total',
          help: 'Compactions that were requested at seams, by result.',
          labels: ['result'],
          read: () => Array.from(results, ([result, value]) => ({ labels: { result }, value })),
        },
      ],
      health: () => ({ seams: { setting: settings.seams, off_models: background.offModels } }),
    },
    async stop() {
      background.close();
      await Promise.resolve();
    },
    async close() {
      clearInterval(looking);
      background.close();
      await background.idle();
    },
  };
}

/** @param projects - those of the viewer; all if absent */
function onPage({ store, clock }: Services, prices: Prices, projects?: readonly string[]): Answer {
  return async (req) => {
    const { conversation } = queryOf(req, PAGE_QUERY);
    const nowMs = clock.nowMs();
    return conversation === undefined
      ? readMonth(store, prices, nowMs, projects)
      : readConversation(store, prices, { nowMs, projects, conversation });
  };
}
