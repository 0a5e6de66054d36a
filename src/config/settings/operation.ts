import { cidrs, headerName, headerSecret, list, listOf, optional, wholeNumber } from '../rules.ts';
import { setting } from './setting.ts';

/** Metrics, identity and administration of a shared proxy. */
export const operationSettings = {
  adminToken: setting({
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Bearer token of the admin API at /admin/v1, which issues, changes and ends keys (/admin/v1/openapi.json). Without it there is no such API.',
  }),
  trustedAuthHeader: setting({
    rule: optional(headerName()),
    fallback: null,
    doc: 'Header in which an authenticating proxy names the signed-in user, such as x-forwarded-user of oauth2-proxy. It is believed from MCP_PRUNER_TRUSTED_PROXIES only, taken off everybody else, and never forwarded. Such a user needs no key (docs/operate.md).',
  }),
  trustedGroupsHeader: setting({
    rule: headerName(),
    fallback: 'x-forwarded-groups',
    doc: 'Header with the groups of that user, separated by commas.',
  }),
  trustedProxies: setting({
    rule: cidrs(),
    fallback: [],
    doc: 'Addresses of authenticating proxies, such as 10.1.2.3 or 10.1.0.0/16.',
  }),
  groupProjects: setting({
    rule: list('pairs group=project, with * for all projects'),
    fallback: [],
    doc: 'Which projects the groups of such a user open. A user without any of these groups is refused.',
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
