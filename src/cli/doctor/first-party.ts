import { claude, FIRST_PARTY, isAsFirstParty } from '../../agents/clients/claude.ts';
import type { ClientPlace } from '../../agents/clients/client.ts';
import type { Finding } from '../../app/finding.ts';
import type { Settings } from '../../config/settings.ts';
import { isAnthropicsOwn } from '../../config/warnings.ts';
import { proxyUrl } from '../run/proxy.ts';

/** What Claude Code leaves out because its base URL is not Anthropic's, or sends although another provider answers. */
export function checkFirstParty(settings: Settings, place: ClientPlace): Finding[] {
  if (claude.upstream?.(place) !== `${proxyUrl(settings)}/v1`) return [];
  const isOwn = isAnthropicsOwn(settings.anthropicUrl);
  const isSet = isAsFirstParty(place);
  if (isSet === isOwn) return [];
  if (isSet) {
    const what = `Claude Code takes the proxy for Anthropic's own API (${FIRST_PARTY}), but it forwards to another provider`;
    return [{ level: 'note', what, advice: `remove ${FIRST_PARTY}` }];
  }
  const what =
    'Claude Code sends no global cache scope, no cache diagnosis and no thinking-binding reports through a proxy';
  const advice = `mcp-pruner setup claude --first-party --write sets ${FIRST_PARTY}=1, an internal switch of Claude Code that may change`;
  return [{ level: 'note', what, advice }];
}
