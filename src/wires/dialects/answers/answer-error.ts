import { field } from '../../json/value.ts';
import type { AnswerError } from '../dialect.ts';

/** Types of events that report an error. AWS names them after its exceptions. */
export const ERROR_EVENT = /^error$|^response\.failed$|Exception$/;
const REFUSAL_STATUSES = new Set([400, 422]);
/** Statuses of faults outside the messages, for which another form of the request fails too. */
const OTHER_FAULTS = new Set([401, 402, 403, 404, 409, 413]);
/** Names of errors used by providers and gateways, in types and codes. The first match applies. */
const KINDS: readonly (readonly [AnswerError, RegExp])[] = [
  ['overloaded', /overload|unavailable|capacity|^5\d\d$/i],
  ['limited', /rate_?limit|quota|exhausted|throttl|too_?many|^429$/i],
  ['refused', /invalid|bad_?request|validation|unprocessable/i],
];

/**
 * The error reported by an event or a whole answer; `null` if there is none.
 *
 * @param type - the event's type, if any
 */
export function errorIn(event: unknown, type: string): AnswerError | null {
  const error = field(event, 'error') ?? field(field(event, 'response'), 'error');
  const hasFields = typeof error === 'object' && error !== null && Object.keys(error).length > 0;
  if (!hasFields && !(typeof error === 'string' && error !== '') && !ERROR_EVENT.test(type)) return null;
  const from = hasFields ? error : event;
  const words = [type, ...['type', 'code', 'status'].map((key) => String(field(from, key) ?? ''))];
  const statuses = [...words, field(event, 'status'), field(event, 'status_code')].map(Number);
  if (statuses.some((status) => REFUSAL_STATUSES.has(status))) return 'refused';
  if (statuses.some((status) => OTHER_FAULTS.has(status))) return 'failed';
  return KINDS.find(([, pattern]) => words.some((word) => pattern.test(word)))?.[0] ?? 'failed';
}
