import { cidrs, headerName, list, onOff, optional } from '../../../../config/rules.ts';
import { setting } from '../../../../config/settings/setting.ts';

/** Access keys, and users whom an authenticating proxy vouches for. */
export const keysSettings = {
  requireKey: setting({
    rule: onOff(),
    fallback: false,
    fallbackWords: 'true beyond loopback with MCP_PRUNER_DATABASE_URL, else false',
    doc: 'Requires a key (from mcp-pruner keys create) with each request except /health (docs/team.md).',
  }),
  trustedAuthHeader: setting({
    rule: optional(headerName()),
    fallback: null,
    doc: 'Header in which an authenticating proxy names the signed-in user, who then needs no key, such as x-forwarded-user (docs/operate.md).',
  }),
  trustedGroupsHeader: setting({
    rule: headerName(),
    fallback: 'x-forwarded-groups',
    doc: 'Header with the groups of the signed-in user, separated by commas.',
  }),
  trustedProxies: setting({
    rule: cidrs(),
    fallback: [],
    doc: 'Addresses of authenticating proxies, such as 10.1.2.3 or 10.1.0.0/16.',
  }),
  groupProjects: setting({
    rule: list('pairs group=project, with * for all projects'),
    fallback: [],
    doc: 'Which projects these groups open. A user without any of them is refused.',
  }),
};
