import { cidrs, headerName, list, onOff, optional } from 'mcp-pruner/config/rules.ts';
import { setting } from 'mcp-pruner/config/settings/setting.ts';
import type { Implied, PartSettings, Settings, ValuesOf } from 'mcp-pruner/config/settings.ts';
import { isLoopbackHost } from 'mcp-pruner/config/warnings.ts';

declare module 'mcp-pruner/config/settings.ts' {
  interface Settings extends ValuesOf<typeof rows> {}
}

/** Settings of access keys, and of users vouched for by an authenticating proxy. */
const rows = {
  requireKey: setting({
    common: true,
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

/** Settings of keys, and their consequences. */
export const keysSettings: PartSettings = { rows, implied, problem, guard: 'requireKey' };

function implied({ host, databaseUrl, trustedAuthHeader, requireKey }: Settings): readonly Implied[] {
  const required: Implied[] = [];
  if (requireKey) required.push(['conversationTitles', false, 'requireKey']);
  // a shared store that other machines can reach requires keys unless configured otherwise
  if (!isLoopbackHost(host) && databaseUrl !== null) required.push(['requireKey', true, 'host']);
  // users of an authenticating proxy need no key, but all others do
  if (trustedAuthHeader !== null) required.push(['requireKey', true, 'trustedAuthHeader']);
  return required;
}

function problem({ trustedAuthHeader, trustedProxies, groupProjects, requireKey }: Settings): string | null {
  if (trustedAuthHeader !== null && (!requireKey || trustedProxies.length === 0)) {
    return (
      `MCP_PRUNER_TRUSTED_AUTH_HEADER (${trustedAuthHeader}) admits the users of an authenticating proxy: name the proxy's ` +
      'addresses in MCP_PRUNER_TRUSTED_PROXIES, and leave MCP_PRUNER_REQUIRE_KEY on for everybody else'
    );
  }
  const wrong = groupProjects.find((pair) => !isGroupAndProject(pair));
  return wrong === undefined
    ? null
    : `MCP_PRUNER_GROUP_PROJECTS has ${JSON.stringify(wrong)}: write group=project, with commas between pairs`;
}

function isGroupAndProject(pair: string): boolean {
  const [group = '', project = ''] = pair.split('=');
  return group.trim() !== '' && project.trim() !== '';
}
