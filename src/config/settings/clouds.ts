import { baseUrl, headerSecret, oneOf, optional, plainText } from '../rules.ts';
import { setting } from './setting.ts';

/** Cloud providers: URLs, and the proxy's own credentials for Bedrock. */
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
  bedrockSign: setting({
    rule: oneOf(['own', 'all']),
    fallback: 'own',
    doc: 'own: prunes and re-signs requests to Bedrock signed by AWS_ACCESS_KEY_ID. all: re-signs every request, so that anybody who reaches the proxy uses these credentials.',
  }),
  awsAccessKeyId: setting({
    env: ['AWS_ACCESS_KEY_ID'],
    rule: headerSecret(),
    fallback: null,
    invalidEnvFallback: null,
    secret: true,
    doc: "Id of the proxy's own key for Bedrock.",
  }),
  awsSecretAccessKey: setting({
    env: ['AWS_SECRET_ACCESS_KEY'],
    rule: headerSecret(),
    fallback: null,
    invalidEnvFallback: null,
    secret: true,
    doc: "Secret of the proxy's own key for Bedrock.",
  }),
  awsSessionToken: setting({
    env: ['AWS_SESSION_TOKEN'],
    rule: headerSecret(),
    fallback: null,
    invalidEnvFallback: null,
    secret: true,
    doc: "Session token of the proxy's own key for Bedrock, if the key is temporary.",
  }),
  awsRegion: setting({
    env: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
    rule: optional(plainText('a region such as us-east-1')),
    fallback: null,
    invalidEnvFallback: null,
    fallbackWords: 'none',
    doc: 'Region of Bedrock for requests whose credentials name none.',
  }),
};
