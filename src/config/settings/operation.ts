import { listOf, wholeNumber } from '../rules.ts';
import { setting } from './setting.ts';

/** Metrics, identity and administration of a shared proxy. */
export const operationSettings = {
  metricsLabels: setting({
    rule: listOf(['model', 'project', 'key']),
    fallback: ['model'],
    doc: 'What requests and dollars are counted by at /metrics: model, project, key (its id). Each label multiplies the number of series.',
  }),
  metricsMaxValues: setting({
    rule: wholeNumber(1, 10_000),
    fallback: 50,
    unit: 'values',
    doc: 'Most values of each of these labels; further ones are counted as other.',
  }),
};
