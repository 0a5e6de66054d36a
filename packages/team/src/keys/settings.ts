import { cidrs, earlier, group, headerName, list, onOff, optional } from 'mcp-pruner/config/rules.ts';
import { setting } from 'mcp-pruner/config/settings/setting.ts';
import type { Implied, PartSettings, Settings, ValuesOf } from 'mcp-pruner/config/settings.ts';
import { isLoopbackHost } from 'mcp-pruner/config/warnings.ts';

declare module 'mcp-pruner/config/settings.ts' {
  interface Settings extends ValuesOf<typeof rows> {}
}

const rows = {
  requireKey: setting({
    common: true,
    rule: onOff(),
    fallback: false,
    fallbackWords: 'true beyond loopback with MCP_PRUNER_DATABASE_URL, else false',
    doc: 'Requires a key (from mcp-pruner keys create) with each request except /health (docs/team.md).',
  }),
  signIn: setting({
    ...group({
      header: {
        rule: optional(headerName()),
        fallback: null,
        doc: 'header with the signed-in user, who then needs no key, such as x-forwarded-user',
        ...earlier('TRUSTED_AUTH_HEADER'),
      },
      groups_header: {
        rule: headerName(),
        fallback: 'x-forwarded-groups',
        doc: "header with the user's groups, separated by commas",
        ...earlier('TRUSTED_GROUPS_HEADER'),
      },
      proxies: {
        rule: cidrs(),
        fallback: [],
        doc: 'addresses of authenticating proxies, such as 10.1.2.3 or 10.1.0.0/16',
        ...earlier('TRUSTED_PROXIES'),
      },
      groups: {
        rule: list('pairs group=project, with * for all projects'),
        fallback: [],
        doc: 'projects that groups open; a user without any of them is refused',
        ...earlier('GROUP_PROJECTS'),
      },
    }),
    doc: 'Users who were signed in by an authenticating proxy (docs/operate.md).',
  }),
};

export const keysSettings: PartSettings = { rows, implied, problem, guard: 'requireKey' };

function implied({ host, databaseUrl, signIn, requireKey }: Settings): readonly Implied[] {
  const required: Implied[] = [];
  if (requireKey) required.push(['conversationTitles', false, 'requireKey']);
  // a shared store that other machines can reach requires keys unless configured otherwise
  if (!isLoopbackHost(host) && databaseUrl !== null) required.push(['requireKey', true, 'host']);
  // users of an authenticating proxy need no key, but all others do
  if (signIn.header !== null) required.push(['requireKey', true, 'signIn']);
  return required;
}

function problem({ signIn: { header, proxies, groups }, requireKey }: Settings): string | null {
  if (header !== null && (!requireKey || proxies.length === 0)) {
    return (
      `MCP_PRUNER_SIGN_IN (header = ${header}) admits the users of an authenticating proxy: name the proxy's ` +
      'addresses as its proxies, and leave MCP_PRUNER_REQUIRE_KEY on for everybody else'
    );
  }
  const wrong = groups.find((pair) => !isGroupAndProject(pair));
  return wrong === undefined ? null : `MCP_PRUNER_SIGN_IN has ${JSON.stringify(wrong)} in groups: write group=project`;
}

function isGroupAndProject(pair: string): boolean {
  const [group = '', project = ''] = pair.split('=');
  return group.trim() !== '' && project.trim() !== '';
}
