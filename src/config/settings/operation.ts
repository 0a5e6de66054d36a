import { headerSecret, listOf, onOff } from '../rules.ts';
import { setting } from './setting.ts';

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
    doc: 'Labels of requests and dollars at /metrics (key: its id). Each multiplies the number of series; of each, the first 50 values count by themselves.',
  }),
};
