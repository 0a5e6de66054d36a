import { headerSecret, listOf, onOff, wholeNumber } from '../rules.ts';
import { setting } from './setting.ts';

/** Metrics and administration of a shared proxy. */
export const operationSettings = {
  adminToken: setting({
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Bearer token of the admin API for keys at /admin/v1 (docs/operate.md). Without it there is no such API.',
  }),
  traces: setting({
    rule: onOff(),
    fallback: false,
    doc: 'Spans of requests to models (look-up, decide, commit, upstream) by the OpenTelemetry API, without texts. An SDK must be registered: see docs/operate.md.',
  }),
  metricsLabels: setting({
    rule: listOf(['model', 'project', 'key']),
    fallback: ['model'],
    doc: 'Labels of requests and dollars at /metrics (key: its id). Each multiplies the number of series.',
  }),
  metricsMaxValues: setting({
    rule: wholeNumber(1, 10_000),
    fallback: 50,
    unit: 'values',
    doc: 'Maximum number of values of each label; further values are counted as other.',
  }),
};
