import type { BudgetGate, OverBudget } from '../../core/ports/budgets.ts';
import { contextOf } from '../request-context.ts';
import { sendError } from '../send-error.ts';
import type { Destinations } from '../upstream/destinations.ts';
import { discardUpload } from '../upstream/unread-upload.ts';
import { asksModel } from './exchange-usage.ts';
import { type Gatekeeper, pathOf } from './gatekeeper.ts';

export interface BudgetDoorOptions {
  readonly budgets: BudgetGate;
  readonly destinations: Pick<Destinations, 'routeOf' | 'errorBodyFor'>;
  /** Called when a request was refused. */
  readonly onRefused: (code: OverBudget['code'], keyId: string | null) => void;
}

/** A request stays counted as running for this long after its response, because it is billed slightly later. */
const BILLED_MS = 3_000;

/**
 * Refuses requests to a model once the dollars of their key or project are used up. Other requests pass. A WebSocket
 * could outlive its budget, so it is refused for a key or project with a budget.
 */
export function budgetDoor({ budgets, destinations, onRefused }: BudgetDoorOptions): Gatekeeper {
  return ({ req, answer, next, kind }) => {
    if (!budgets.isNeeded) return next();
    const isUpgrade = kind === 'upgrade';
    if (!isUpgrade && (req.method !== 'POST' || !asksModel(pathOf(req)) || destinations.routeOf(req) === null))
      return next();
    const { keyId, scope } = contextOf(req, '');
    const over = budgets.over(keyId, scope.project);
    const code = over?.code ?? (isUpgrade && budgets.covers(keyId, scope.project) ? 'upgrade_refused' : null);
    if (code === null) {
      if (!isUpgrade && budgets.covers(keyId, scope.project)) {
        const leave = budgets.enter(keyId, scope.project);
        answer().once('close', () => setTimeout(leave, BILLED_MS).unref());
      }
      return next();
    }
    if (over) onRefused(over.code, keyId ?? null);
    const res = answer();
    if (over) res.setHeader('Retry-After', String(over.retryAfterS));
    sendError(res, code, undefined, undefined, destinations.errorBodyFor(req));
    discardUpload(req);
  };
}
