import type { HealthReport } from '../mcp/tools/health.ts';
import type { FindingShown } from '../page/shapes.ts';
import { providerFacts } from '../providers/facts.ts';

const ADDRESSES = new Set<string>(providerFacts.map(({ field }) => field));

/** A report for a caller who must not learn where requests are forwarded to. */
export function withoutAddresses(report: HealthReport): HealthReport {
  const shown = Object.entries(report).filter(([field]) => !ADDRESSES.has(field));
  return Object.fromEntries(shown) as HealthReport;
}

/**
 * The checks for a viewer who sees some projects only: whether the proxy and its store work. What `mcp-pruner doctor` finds
 * besides is about the whole server: counts, keys, agents, addresses.
 */
export function viewerFindings({ version, store, mode }: HealthReport): FindingShown[] {
  const away =
    'Requests go through unpruned meanwhile, and originals cannot be read. The operator of this proxy can mend it.';
  return [
    { level: 'ok', what: `this proxy answers: mcp-pruner ${version}` },
    store === 'ok'
      ? { level: 'ok', what: 'originals can be stored and read' }
      : { level: 'failure', what: `the store cannot be used now: ${String(store)}`, advice: away },
    mode === 'prune'
      ? { level: 'ok', what: 'requests are pruned' }
      : { level: 'note', what: `requests are not pruned: the mode is ${String(mode)}` },
    {
      level: 'note',
      what: 'everything else concerns the whole server',
      advice: 'The operator of this proxy sees it with mcp-pruner doctor.',
    },
  ];
}
