import type { Budget } from '../core/ports/budgets.ts';
import { Budgets } from '../ledger/budgets.ts';
import type { Context } from './context.ts';

/** The run of events about budgets. They belong to no conversation. */
const BUDGETS_RUN = 'budgets';

/** Holds keys and projects to their dollars per month; what is nearly used up is logged and stands in the audit trail. */
export async function openBudgets(
  { store, events, clock, log, failures }: Context,
  budgets: () => readonly Budget[],
): Promise<Budgets> {
  const open = new Budgets({
    store: store.ledger,
    clock,
    budgets,
    onWarn: ({ of, name, dollars: budget }, dollars) => {
      const about = { of, name, budget, spent: Math.round(dollars * 100) / 100 };
      log.warn(about, 'a budget of dollars is nearly used up');
      const event = {
        tsMs: clock.nowMs(),
        kind: 'budget_warned',
        level: 'warn',
        runId: BUDGETS_RUN,
        opId: null,
      } as const;
      events.add([{ ...event, payload: about, audit: true }]);
    },
    onFailure: failures.of('ledger'),
  });
  await open.start();
  return open;
}
