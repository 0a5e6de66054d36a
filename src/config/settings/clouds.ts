import { baseUrl, group, headerSecret, oneOf, optional, plainText } from '../rules.ts';
import { setting } from './setting.ts';

export const cloudSettings = {
  vertexUrl: setting({
    rule: optional(baseUrl()),
    fallback: null,
    fallbackWords: "by the path's location",
    doc: 'Upstream of Vertex AI (/v1/projects, /v1beta1/projects): an origin or gateway base without a version. The whole path is appended.',
  }),
  bedrockUrl: setting({
    rule: optional(baseUrl()),
    fallback: null,
    fallbackWords: 'by the region of the signature, or AWS_REGION',
    doc: 'Upstream of Bedrock (/model, /guardrail). The whole path is appended.',
  }),
  azureUrl: setting({
    rule: optional(baseUrl()),
    fallback: null,
    fallbackWords: 'none',
    doc: 'Upstream of Azure OpenAI (/openai) and Foundry (/anthropic). The whole path is appended.',
  }),
  aws: setting({
    ...group({
      accessKeyId: { env: ['AWS_ACCESS_KEY_ID'], rule: headerSecret(), fallback: null, doc: 'id of the key' },
      secretAccessKey: {
        env: ['AWS_SECRET_ACCESS_KEY'],
        rule: headerSecret(),
        fallback: null,
        doc: 'secret of the key',
      },
      sessionToken: {
        env: ['AWS_SESSION_TOKEN'],
        rule: headerSecret(),
        fallback: null,
        doc: 'session token of a temporary key',
      },
      region: {
        env: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
        rule: optional(plainText('a region such as us-east-1')),
        fallback: null,
        doc: 'region for requests whose credentials name none',
        shown: true,
      },
      sign: {
        env: ['MCP_PRUNER_BEDROCK_SIGN'],
        toml: 'bedrock_sign',
        rule: oneOf(['own', 'all']),
        fallback: 'own',
        doc: 'own (default) re-signs and prunes requests to Bedrock that AWS_ACCESS_KEY_ID signed, all re-signs every request, so that anybody who reaches the proxy uses the key',
        shown: true,
      },
    }),
    onlyFields: true,
    secret: true,
    invalidEnvFallback: { accessKeyId: null, secretAccessKey: null, sessionToken: null, region: null, sign: 'own' },
    doc: "The proxy's own key for Bedrock, its region, and which requests it signs.",
  }),
};
