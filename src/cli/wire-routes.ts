import type { WireName } from '../agents/clients/client.ts';
import type { SettingKey } from '../config/settings.ts';

/** Where requests of some wires are forwarded: the setting that says so, and the field of `/health` that tells it. */
export interface WireRoute {
  /** As doctor calls it. */
  readonly title: string;
  readonly key: Extract<SettingKey, 'upstreamUrl' | 'anthropicUrl' | 'geminiUrl'>;
  readonly variable: string;
  readonly field: 'upstream' | 'anthropic_upstream' | 'gemini_upstream';
  /** What an address of this wire ends in. */
  readonly path: '/v1' | '/v1beta';
}

/** The route of all wires that have none of their own. */
export const openaiRoute: WireRoute = {
  title: 'upstream',
  key: 'upstreamUrl',
  variable: 'MCP_PRUNER_UPSTREAM_URL',
  field: 'upstream',
  path: '/v1',
};

/** Routes that are of use to some agents only. */
export const otherRoutes: Readonly<Partial<Record<WireName, WireRoute>>> = {
  messages: {
    title: 'upstream of the messages wire,',
    key: 'anthropicUrl',
    variable: 'MCP_PRUNER_ANTHROPIC_URL',
    field: 'anthropic_upstream',
    path: '/v1',
  },
  gemini: {
    title: 'upstream of the gemini wire,',
    key: 'geminiUrl',
    variable: 'MCP_PRUNER_GEMINI_URL',
    field: 'gemini_upstream',
    path: '/v1beta',
  },
};

/** The route of a wire. */
export function routeOf(wire: WireName): WireRoute {
  return otherRoutes[wire] ?? openaiRoute;
}
