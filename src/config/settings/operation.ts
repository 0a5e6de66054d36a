import { headerSecret, listOf, wholeNumber } from '../rules.ts';
import { setting } from './setting.ts';

/** Metrics and administration of a shared proxy. */
export const operationSettings = {
  adminToken: setting({
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Bearer token of the admin API at /admin/v1, which issues, changes and ends keys (/admin/v1/openapi.json). Without it there is no such API.',
  }),
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
