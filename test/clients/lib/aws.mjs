import { createHash, createHmac } from 'node:crypto';

/** The key of AWS that the clients sign with, and the proxy as well. */
export const AWS_KEY = { id: 'AKIASCRIPTED00000000', secret: 'scripted-secret-0000' };

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/((\d+)\/([^/]+)\/([^/]+)\/aws4_request), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/;

const sha256 = (data) => createHash('sha256').update(data).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
const escaped = (text) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** Whether a request carries a signature of AWS (Signature Version 4). */
export const isSigned = (headers) => String(headers.authorization ?? '').startsWith('AWS4-');

/**
 * What AWS would refuse in the signature of a request as it arrived; `null`: it is valid. Written from
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
 *
 * @param {{ method: string, path: string, headers: Record<string, unknown>, body: string }} request
 */
export function signatureFault({ method, path, headers, body }) {
  const [, key, scope, day, region, service, names, signature] =
    AUTHORIZATION.exec(String(headers.authorization)) ?? [];
  if (key !== AWS_KEY.id) return `the signature is not of ${AWS_KEY.id}`;
  const claimed = headers['x-amz-content-sha256'] ?? sha256(body);
  if (claimed !== sha256(body)) return 'the hash of the body is wrong';
  const fields = names.split(';').map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`);
  const [plain = '', query = ''] = path.split('?');
  const pairs = [...new URLSearchParams(query)].map((pair) => pair.map(escaped).join('=')).sort();
  const asked = [plain.split('/').map(escaped).join('/'), pairs.join('&')];
  const canonical = [method, ...asked, ...fields, '', names, claimed].join('\n');
  const signed = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const signingKey = [day, region, service, 'aws4_request'].reduce(hmac, `AWS4${AWS_KEY.secret}`);
  return hmac(signingKey, signed).toString('hex') === signature ? null : 'the signature is wrong';
}
