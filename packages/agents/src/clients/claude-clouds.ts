import type { ClientCloud } from './client.ts';

/** Variables read by Claude Code, from its settings file (which takes precedence) and the environment. */
export type Variables = (name: string) => string;

interface CloudRow {
  readonly title: string;
  /** Variable that enables the cloud. */
  readonly flag: string;
  /** Variable with the base URL, and the path after the proxy's origin. */
  readonly variable: string;
  readonly path: '' | '/v1' | '/anthropic';
  readonly key: ClientCloud['key'];
  /** Destination without a base URL; `null` if each request names it. */
  readonly upstream: (variables: Variables) => string | null;
  /** Variables that are incompatible with a base URL. */
  readonly without?: readonly string[];
  /** Variables that disable AWS signing; absent for clouds without signed requests. */
  readonly unsignedBy?: readonly string[];
}

const region = (variables: Variables): string =>
  variables('AWS_REGION') || variables('AWS_DEFAULT_REGION') || 'us-east-1';

/** In the order of Claude Code's checks. Source: https://code.claude.com/docs/en/third-party-integrations */
const rows: readonly CloudRow[] = [
  {
    title: 'Amazon Bedrock',
    flag: 'CLAUDE_CODE_USE_BEDROCK',
    variable: 'ANTHROPIC_BEDROCK_BASE_URL',
    path: '',
    key: 'bedrockUrl',
    upstream: (variables) => `https://bedrock-runtime.${region(variables)}.amazonaws.com`,
    unsignedBy: ['AWS_BEARER_TOKEN_BEDROCK', 'CLAUDE_CODE_SKIP_BEDROCK_AUTH'],
  },
  {
    title: 'Microsoft Foundry',
    flag: 'CLAUDE_CODE_USE_FOUNDRY',
    variable: 'ANTHROPIC_FOUNDRY_BASE_URL',
    path: '/anthropic',
    key: 'azureUrl',
    upstream: (variables) => {
      const resource = variables('ANTHROPIC_FOUNDRY_RESOURCE');
      return resource === '' ? null : `https://${resource}.services.ai.azure.com`;
    },
    without: ['ANTHROPIC_FOUNDRY_RESOURCE'],
  },
  {
    title: 'Bedrock Mantle',
    flag: 'CLAUDE_CODE_USE_MANTLE',
    variable: 'ANTHROPIC_BEDROCK_MANTLE_BASE_URL',
    path: '/anthropic',
    key: 'azureUrl',
    upstream: (variables) => `https://bedrock-mantle.${region(variables)}.api.aws`,
    unsignedBy: ['AWS_BEARER_TOKEN_BEDROCK', 'ANTHROPIC_BEDROCK_MANTLE_API_KEY', 'CLAUDE_CODE_SKIP_MANTLE_AUTH'],
  },
  {
    title: 'Vertex AI',
    flag: 'CLAUDE_CODE_USE_VERTEX',
    variable: 'ANTHROPIC_VERTEX_BASE_URL',
    path: '/v1',
    key: 'vertexUrl',
    upstream: () => null,
  },
];

/** The cloud that Claude Code is configured to use; `null` if none. */
export function claudeCloud(variables: Variables): ClientCloud | null {
  const row = rows.find(({ flag }) => /^(?:1|true|yes|on)$/i.test(variables(flag)));
  if (row === undefined) return null;
  const { title, variable, path, key, without = [] } = row;
  const current = variables(variable).replace(/(?<!\/)\/+$/, '');
  const origin = path !== '' && current.endsWith(path) ? current.slice(0, -path.length) : current;
  const isSigned = row.unsignedBy?.every((name) => variables(name) === '') ?? false;
  const hasKeys = variables('AWS_ACCESS_KEY_ID') !== '' && variables('AWS_SECRET_ACCESS_KEY') !== '';
  return {
    title,
    variable,
    path,
    key,
    without,
    current,
    upstream: origin === '' ? row.upstream(variables) : origin,
    signing: !isSigned ? 'none' : hasKeys ? 'own' : 'unknown',
  };
}
