import { list, oneOf, wholeNumberOrAuto } from 'mcp-pruner/config/rules.ts';
import { setting } from 'mcp-pruner/config/settings/setting.ts';
import type { ValuesOf } from 'mcp-pruner/config/settings.ts';
import { SEAM_TOKENS } from 'mcp-pruner/ledger/thresholds.ts';

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
    rule: list('logins and host names'),
    fallback: [],
    doc: "Also compacts conversations of subscription logins (logins), for which the providers document nothing, and on further hosts (host or host:port) that offer compaction like the provider's own; gateways often do not.",
  }),
};
