import { SEAM_TOKENS } from '@mcp-pruner/money/thresholds.ts';
import { group, hosts, oneOf, onOff, wholeNumberOrAuto } from 'mcp-pruner/config/rules.ts';
import { setting } from 'mcp-pruner/config/settings/setting.ts';
import type { ValuesOf } from 'mcp-pruner/config/settings.ts';

declare module 'mcp-pruner/config/settings.ts' {
  interface Settings extends ValuesOf<typeof seamSettings> {}
}

/** Compactions by the provider where one task ends and the next begins. */
export const seamSettings = {
  seams: setting({
    common: true,
    rule: oneOf(['off', 'measure', 'on']),
    fallback: 'measure',
    doc: 'on: has the provider summarise finished work in the background, where one task ends and the next begins. measure: only reports what finished work costs (docs/seams.md).',
  }),
  seamTokens: setting({
    rule: wholeNumberOrAuto(1),
    fallback: SEAM_TOKENS,
    unit: 'tokens',
    doc: 'Least weight of finished work for a compaction. auto: wherever it pays by the prices and the pace of the project.',
  }),
  seamsAlso: setting({
    ...group({
      logins: {
        env: ['MCP_PRUNER_SEAMS_LOGINS'],
        toml: 'seams_logins',
        rule: onOff(),
        fallback: false,
        doc: 'true also compacts conversations of subscription logins, for which the providers document nothing',
      },
      hosts: {
        env: ['MCP_PRUNER_SEAMS_HOSTS'],
        toml: 'seams_hosts',
        rule: hosts(),
        fallback: [],
        doc: "further hosts (host or host:port) that offer compaction like the provider's own; gateways often do not",
      },
    }),
    onlyFields: true,
    doc: 'Which further conversations may be compacted.',
  }),
};
