import type { Dialect } from '../dialects/dialect.ts';

export type ProviderName = 'openai' | 'anthropic' | 'google' | 'vertex' | 'bedrock' | 'azure';

/**
 * The facts about a provider that settings, `/health`, `run`, `doctor` and the ledger use. Its routes are in a separate
 * file.
 */
export interface ProviderFacts {
  readonly name: ProviderName;
  /** Name of the upstream in `doctor`. */
  readonly title: string;
  /** The setting with the base URL, and the setting's environment variable. */
  readonly key: 'upstreamUrl' | 'anthropicUrl' | 'geminiUrl' | 'vertexUrl' | 'bedrockUrl' | 'azureUrl';
  readonly variable: string;
  /** Field of `/health` with the origin of the base URL. */
  readonly field:
    | 'upstream'
    | 'anthropic_upstream'
    | 'gemini_upstream'
    | 'vertex_upstream'
    | 'bedrock_upstream'
    | 'azure_upstream';
  /** End of the base URL with which an agent reaches this provider through the proxy. */
  readonly path: '/v1' | '/v1beta' | '';
  readonly wires: readonly Dialect['name'][];
  /** The proxy's own key for this provider, used for requests without one: setting and header. */
  readonly ownKey?: {
    readonly key: 'upstreamApiKey' | 'anthropicApiKey';
    readonly field: (key: string) => readonly [name: string, value: string];
  };
}

export const facts = {
  openai: {
    name: 'openai',
    title: 'upstream',
    key: 'upstreamUrl',
    variable: 'MCP_PRUNER_UPSTREAM_URL',
    field: 'upstream',
    path: '/v1',
    wires: ['chat', 'responses'],
    ownKey: { key: 'upstreamApiKey', field: (key) => ['authorization', `Bearer ${key}`] },
  },
  anthropic: {
    name: 'anthropic',
    title: 'upstream of the messages wire,',
    key: 'anthropicUrl',
    variable: 'MCP_PRUNER_ANTHROPIC_URL',
    field: 'anthropic_upstream',
    path: '/v1',
    wires: ['messages'],
    ownKey: { key: 'anthropicApiKey', field: (key) => ['x-api-key', key] },
  },
  google: {
    name: 'google',
    title: 'upstream of the gemini wire,',
    key: 'geminiUrl',
    variable: 'MCP_PRUNER_GEMINI_URL',
    field: 'gemini_upstream',
    path: '/v1beta',
    wires: ['gemini', 'interactions'],
  },
  vertex: {
    name: 'vertex',
    title: 'upstream of Vertex AI,',
    key: 'vertexUrl',
    variable: 'MCP_PRUNER_VERTEX_URL',
    field: 'vertex_upstream',
    path: '/v1',
    wires: ['messages', 'gemini', 'chat'],
  },
  bedrock: {
    name: 'bedrock',
    title: 'upstream of Bedrock,',
    key: 'bedrockUrl',
    variable: 'MCP_PRUNER_BEDROCK_URL',
    field: 'bedrock_upstream',
    path: '',
    wires: ['converse', 'messages'],
  },
  azure: {
    name: 'azure',
    title: 'upstream of Azure,',
    key: 'azureUrl',
    variable: 'MCP_PRUNER_AZURE_URL',
    field: 'azure_upstream',
    path: '',
    wires: ['chat', 'responses', 'messages'],
  },
} as const satisfies { readonly [Name in ProviderName]: ProviderFacts & { readonly name: Name } };

/** The base URLs of all providers; `null` for a cloud whose URL is not set. */
export type BaseUrls = Readonly<Record<'upstreamUrl' | 'anthropicUrl' | 'geminiUrl', string>> &
  Readonly<Record<'vertexUrl' | 'bedrockUrl' | 'azureUrl', string | null>>;

export const providerFacts: readonly ProviderFacts[] = Object.values(facts);

const GOOGLE: ReadonlySet<Dialect['name']> = new Set(facts.google.wires);

/** The provider that the requests of a wire go to by default. */
export function providerOfWire(wire: Dialect['name']): (typeof facts)['openai' | 'anthropic' | 'google'] {
  return wire === 'messages' ? facts.anthropic : GOOGLE.has(wire) ? facts.google : facts.openai;
}
