import { createHash, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { SeenRequest } from './fake-upstream.ts';

/** Credentials of AWS. */
export interface AwsKey {
  readonly id: string;
  readonly secret: string;
}

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** What is to be signed: path and query as sent, and the fields that the signature covers. */
interface Signable {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * The `Authorization` of a request by Signature Version 4, written from
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
 */
export function authorizationOf(
  { url, headers, body }: Signable,
  key: AwsKey,
  { region = 'us-east-1', service = 'bedrock' } = {},
): string {
  const { pathname, searchParams } = new URL(url, 'http://host');
  const rawPath = url.split('?', 1)[0] ?? pathname;
  const names = Object.keys(headers).sort();
  const canonical = [
    'POST',
    rawPath.split('/').map(escaped).join('/'),
    [...searchParams]
      .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
      .sort()
      .join('&'),
    ...names.map((name) => `${name}:${headers[name]?.trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    headers['x-amz-content-sha256'] ?? sha256(body),
  ].join('\n');
  const date = headers['x-amz-date'] ?? '';
  const day = date.slice(0, 8);
  const scope = `${day}/${region}/${service}/aws4_request`;
  const signingKey = hmac(hmac(hmac(hmac(`AWS4${key.secret}`, day), region), service), 'aws4_request');
  const signature = hmac(signingKey, ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=${key.id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
}

/** The fields of a request that a client signs. */
export function signedHeaders(
  url: string,
  body: Buffer,
  host: string,
  key: AwsKey,
  {
    at = new Date(),
    more = {},
    ...scope
  }: { at?: Date; more?: Record<string, string>; region?: string; service?: string } = {},
): Record<string, string> {
  const date = at.toISOString().replace(/[-:]|\.\d+/g, '');
  const headers = {
    'content-type': 'application/json',
    host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': date,
    ...more,
  };
  return { ...headers, authorization: authorizationOf({ url, headers, body }, key, scope) };
}

/** Whether a request as it arrived carries a valid signature of a key, as AWS would check it. */
export function isSignedBy(
  { url, headers, body }: SeenRequest,
  key: AwsKey,
  scope: { region?: string; service?: string } = {},
): boolean {
  const { authorization = '' } = headers;
  const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? [];
  if (!names.includes('host') || !names.includes('x-amz-date')) return false;
  if (headers['x-amz-content-sha256'] !== undefined && headers['x-amz-content-sha256'] !== sha256(body)) return false;
  const covered = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
  return authorization === authorizationOf({ url, headers: covered, body }, key, scope);
}

/** A message of `application/vnd.amazon.eventstream`: lengths, headers, payload, and both checksums. */
export function awsFrame(eventType: string, payload: object): Buffer {
  const header = (name: string, value: string): Buffer => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(value));
    return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)]);
  };
  const headers = Buffer.concat([
    header(':message-type', 'event'),
    header(':content-type', 'application/json'),
    header(':event-type', eventType),
  ]);
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(12 + headers.length + body.length + 4, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const checksum = (bytes: Buffer): Buffer => {
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(bytes));
    return sum;
  };
  const message = Buffer.concat([prelude, checksum(prelude), headers, body]);
  return Buffer.concat([message, checksum(message)]);
}
