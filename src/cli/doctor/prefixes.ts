import type { Finding } from '../../app/finding.ts';
import { prefixBreakLine } from '../../core/ports/prefix-breaks.ts';
import type { ProxyHealth } from '../run/proxy.ts';

/** What providers reported to the running proxy about changed history. */
export function checkPrefixes(running: Pick<ProxyHealth, 'prefixBreaks'> | null): Finding[] {
  const requests = running?.prefixBreaks?.get('requests') ?? 0;
  if (requests === 0) return [];
  const reported = running?.prefixBreaks?.get('reported') ?? 0;
  const what = prefixBreakLine({ reported, requests });
  if (reported === 0) return [{ level: 'ok', what }];
  const advice =
    'the log names each request, `mcp-pruner report` what changed; if the session changed its proxy or its store midway, compact it or start a new one, else report it';
  return [{ level: 'note', what, advice }];
}
