import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { credentialScope } from './credential-scope.ts';
import { facts } from './facts.ts';
import { isBelow, type Operation, type Provider, plainName } from './provider.ts';

const MODEL = /^\/model\/([^/]+)\/([a-z-]+)$/;
const REGION = /^(?!cn-)[a-z]{2,3}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/;
/** Service of AWS that offers models in the formats of their makers. */
const MANTLE = 'bedrock-mantle';
/** How API keys of Bedrock begin. */
const API_KEY = /^Bearer (?:ABSK|bedrock-api-key-)/;
const RUNTIME_HOST = /^https:\/\/bedrock-runtime\b/;
const AZURE_HOST = /^https:\/\/[\w.-]+\.azure\.(?:com|us|cn)(?=[:/]|$)/;

/**
 * Amazon Bedrock: `InvokeModel` with Claude. Other models and operations are forwarded unread. Requests to the paths of
 * Mantle are its own where they carry credentials of AWS.
 * Sources: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
 */
export const bedrock: Provider = {
  ...facts.bedrock,
  dialects: [anthropicMessages],
  takes(path, { method, url, headers: { authorization } }, { azureUrl }) {
    const isOfAws = credentialScope(authorization) !== null || (azureUrl === null && API_KEY.test(authorization ?? ''));
    const isMantle = isMantlePath(path) && isOfAws;
    if (!isMantle && !isBelow(path, '/model') && !isBelow(path, '/guardrail')) return null;
    // a signature covers the body, which must then stay as it is
    if (method !== 'POST' || credentialScope(authorization)) return { operation: null, rest: url };
    return { operation: isMantle ? mantleOperation(path) : modelOperation(path), rest: url };
  },
  baseUrl(path, { headers }, { bedrockUrl, azureUrl, awsRegion }) {
    const isMantle = isMantlePath(path);
    // the hosts of the vendors themselves serve one of the APIs each; a gateway may serve both
    if (bedrockUrl !== null && !(isMantle && RUNTIME_HOST.test(bedrockUrl))) return bedrockUrl;
    if (isMantle && azureUrl !== null && !AZURE_HOST.test(azureUrl)) return azureUrl;
    const region = credentialScope(headers.authorization)?.region ?? awsRegion;
    if (region === null || !REGION.test(region)) return null;
    return isMantle ? `https://${MANTLE}.${region}.api.aws` : `https://bedrock-runtime.${region}.amazonaws.com`;
  },
};

function modelOperation(path: string): Operation | null {
  const [, id = '', verb = ''] = MODEL.exec(path) ?? [];
  const model = plainName(id);
  const isInvoke = verb === 'invoke' || verb === 'invoke-with-response-stream';
  // the ARN of an inference profile does not name the model: bodies of other models hold nothing that is read
  if (!isInvoke || !/anthropic|^arn:/.test(model)) return null;
  return { dialect: anthropicMessages, purpose: 'generate', model, stream: verb !== 'invoke' };
}

function mantleOperation(path: string): Operation | null {
  if (path === '/anthropic/v1/messages') return { dialect: anthropicMessages, purpose: 'generate' };
  return path === '/anthropic/v1/messages/count_tokens' ? { dialect: anthropicMessages, purpose: 'count' } : null;
}

function isMantlePath(path: string): boolean {
  return isBelow(path, '/anthropic') || isBelow(path, '/openai');
}
