import { anthropicMessages } from '../dialects/anthropic-messages/dialect.ts';
import { bedrockConverse } from '../dialects/bedrock-converse/dialect.ts';
import { JsonCursor, type Span } from '../json/cursor.ts';
import { facts } from './facts.ts';
import { decodedName, type Enclosed, isBelow, type Operation, type Provider } from './provider.ts';

const MODEL = /^\/model\/([^/]+)\/([a-z-]+)$/;
const REGION = /^(?!cn-)[a-z]{2,3}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/;
/** AWS service that offers models in their makers' formats. */
const MANTLE = 'bedrock-mantle';
/** The path of Bedrock's control API, which has its own host. Claude Code sends such requests to the same base URL. */
const CONTROL = '/inference-profiles';
const ROOTS = ['/model', '/guardrail', CONTROL];
/** Prefixes of Bedrock API keys. */
const API_KEY = /^Bearer (?:ABSK|bedrock-api-key-)/;
const RUNTIME_HOST = /^https:\/\/bedrock-runtime\b/;
const AZURE_HOST = /^https:\/\/[\w.-]+\.azure\.(?:com|us|cn)(?=[:/]|$)/;

/**
 * Amazon Bedrock: `InvokeModel` with Claude, and `Converse`. Other models and operations are forwarded unread. Requests
 * to the paths of Mantle belong to Bedrock if they carry AWS credentials. Sources:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html
 */
export const bedrock: Provider = {
  ...facts.bedrock,
  dialects: [bedrockConverse, anthropicMessages],
  takes(path, { method, url, headers: { authorization } }, { azureUrl }) {
    const isOfAws = credentialScope(authorization) !== null || (azureUrl === null && API_KEY.test(authorization ?? ''));
    const isMantle = isMantlePath(path) && isOfAws;
    if (!isMantle && !ROOTS.some((root) => isBelow(path, root))) return null;
    if (method !== 'POST') return { operation: null, rest: url };
    return { operation: isMantle ? mantleOperation(path) : modelOperation(path), rest: url };
  },
  baseUrl(path, { headers }, { bedrockUrl, azureUrl, aws }) {
    const isMantle = isMantlePath(path);
    // each vendor host serves only one API; a gateway may serve several
    const isControl = isBelow(path, CONTROL);
    if (bedrockUrl !== null && !((isMantle || isControl) && RUNTIME_HOST.test(bedrockUrl))) return bedrockUrl;
    if (isMantle && azureUrl !== null && !AZURE_HOST.test(azureUrl)) return azureUrl;
    const region = credentialScope(headers.authorization)?.region ?? aws.region;
    if (region === null || !REGION.test(region)) return null;
    if (isControl) return `https://bedrock.${region}.amazonaws.com`;
    return isMantle ? `https://${MANTLE}.${region}.api.aws` : `https://bedrock-runtime.${region}.amazonaws.com`;
  },
};

function modelOperation(path: string): Operation | null {
  const [, id = '', verb = ''] = MODEL.exec(path) ?? [];
  const model = decodedName(id);
  const stream = verb.endsWith('-stream');
  if (verb === 'converse' || verb === 'converse-stream') {
    return { dialect: bedrockConverse, purpose: 'generate', model, stream };
  }
  if (verb === 'count-tokens') return { dialect: bedrockConverse, purpose: 'count', model, open: openCount };
  const isInvoke = verb === 'invoke' || verb === 'invoke-with-response-stream';
  // an inference profile's ARN does not name the model; the body of another model is not recognised
  if (!isInvoke || !/anthropic|^arn:/.test(model)) return null;
  return { dialect: anthropicMessages, purpose: 'generate', model, stream };
}

function mantleOperation(path: string): Operation | null {
  if (path === '/anthropic/v1/messages') return { dialect: anthropicMessages, purpose: 'generate' };
  return path === '/anthropic/v1/messages/count_tokens' ? { dialect: anthropicMessages, purpose: 'count' } : null;
}

function isMantlePath(path: string): boolean {
  return isBelow(path, '/anthropic') || isBelow(path, '/openai');
}

export interface CredentialScope {
  readonly keyId: string;
  /** `YYYYMMDD` */
  readonly day: string;
  readonly region: string;
  readonly service: string;
  /** Names of the headers that the signature covers, in lower case. */
  readonly signedHeaders: readonly string[];
  /** In hexadecimal digits. */
  readonly signature: string;
}

/**
 * Reads `Authorization: AWS4-HMAC-SHA256 Credential=…, SignedHeaders=…, Signature=…`; `null` for anything else.
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function credentialScope(authorization: string | undefined): CredentialScope | null {
  if (authorization === undefined || !authorization.startsWith('AWS4-HMAC-SHA256 ')) return null;
  const parts = new Map<string, string>();
  for (const part of authorization.slice('AWS4-HMAC-SHA256 '.length).split(',', 8)) {
    const equals = part.indexOf('=');
    if (equals > 0) parts.set(part.slice(0, equals).trim(), part.slice(equals + 1).trim());
  }
  const [keyId = '', day = '', region = '', service = '', end] = (parts.get('Credential') ?? '').split('/');
  const signature = parts.get('Signature');
  const signedHeaders = parts.get('SignedHeaders')?.toLowerCase().split(';');
  if (end !== 'aws4_request' || signature === undefined || signedHeaders === undefined) return null;
  return { keyId, day, region, service, signedHeaders, signature };
}

/**
 * Opens a body of `CountTokens`: `{"input": {"converse": {…}}}`, or `{"input": {"invokeModel": {"body": "<base64>"}}}`.
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_CountTokens.html
 *
 * @returns `null` for a body of another shape
 * @throws JsonShapeError if it is not a JSON object
 */
function openCount(bytes: Buffer): Enclosed | null {
  const { converse, invoked } = find(bytes);
  if (converse !== null && invoked === null) {
    const body = bytes.subarray(converse.start, converse.end);
    return { dialect: bedrockConverse, body, close: (changed) => replaced(bytes, converse, changed) };
  }
  if (invoked === null || converse !== null) return null;
  const text = bytes.toString('latin1', invoked.start + 1, invoked.end - 1);
  const body = Buffer.from(text, 'base64');
  // other spellings of base64 could not be restored exactly
  if (body.toString('base64') !== text) return null;
  const close = (changed: Buffer): Buffer => replaced(bytes, invoked, Buffer.from(`"${changed.toString('base64')}"`));
  return { dialect: anthropicMessages, body, close };
}

function find(bytes: Buffer): { readonly converse: Span | null; readonly invoked: Span | null } {
  const cursor = new JsonCursor(bytes);
  let converse: Span | null = null;
  let invoked: Span | null = null;
  cursor.object((key) => {
    if (key !== 'input' || !cursor.atObject()) return;
    cursor.object((kind) => {
      if (kind === 'converse' && cursor.atObject()) converse = cursor.value();
      else if (kind === 'invokeModel' && cursor.atObject()) {
        cursor.object((name) => {
          if (name === 'body' && cursor.atString()) invoked = cursor.string();
        });
      }
    });
  });
  return { converse, invoked };
}

function replaced(bytes: Buffer, { start, end }: Span, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);
}
