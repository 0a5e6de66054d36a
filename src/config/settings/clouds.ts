import { baseUrl, headerSecret, oneOf, optional, plainText } from '../rules.ts';
import { setting } from './setting.ts';

/** Cloud providers: their addresses, and the proxy's own credentials for Bedrock. */
export const cloudSettings = {
  vertexUrl: setting({
    rule: optional(baseUrl()),
    fallback: null,
    fallbackWords: 'the host of the location in the path',
    doc: 'Where requests of Vertex AI (/v1/projects, /v1beta1/projects) are forwarded to: an origin or the base of a gateway, without a version; the whole path is appended.',
  }),
  bedrockUrl: setting({
    rule: optional(baseUrl()),
    fallback: null,
    fallbackWords: 'the host of the region that the signature or AWS_REGION names',
    doc: 'Where requests of Bedrock (/model, /guardrail) are forwarded to: an origin or the base of a gateway; the whole path is appended.',
  }),
  azureUrl: setting({
    rule: optional(baseUrl()),
    fallback: null,
    fallbackWords: 'none',
    doc: 'Where requests of Azure OpenAI (/openai) and Foundry (/anthropic) are forwarded to: the origin of the resource or the base of a gateway; the whole path is appended.',
  }),
  bedrockSign: setting({
    rule: oneOf(['own', 'all']),
    fallback: 'own',
    doc: 'own: a request to Bedrock that carries a valid signature of AWS_ACCESS_KEY_ID is pruned and signed anew. all: every other signed or unsigned request too, so that all who reach the proxy use these credentials.',
  }),
  awsAccessKeyId: setting({
    env: ['AWS_ACCESS_KEY_ID'],
    rule: headerSecret(),
    fallback: null,
    instead: null,
    secret: true,
    doc: "The proxy's own credentials for Bedrock: id of the key.",
  }),
  awsSecretAccessKey: setting({
    env: ['AWS_SECRET_ACCESS_KEY'],
    rule: headerSecret(),
    fallback: null,
    instead: null,
    secret: true,
    doc: 'The secret of that key.',
  }),
  awsSessionToken: setting({
    env: ['AWS_SESSION_TOKEN'],
    rule: headerSecret(),
    fallback: null,
    instead: null,
    secret: true,
    doc: 'The session token of that key, where it is temporary.',
  }),
  awsRegion: setting({
    env: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
    rule: optional(plainText('a region such as us-east-1')),
    fallback: null,
    instead: null,
    fallbackWords: 'none',
    doc: 'Region of Bedrock for requests whose credentials name none.',
  }),
};
