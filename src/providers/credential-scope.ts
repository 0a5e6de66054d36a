/** The scope that an AWS signature names. */
export interface CredentialScope {
  readonly keyId: string;
  /** `YYYYMMDD` */
  readonly day: string;
  readonly region: string;
  readonly service: string;
  /** Names of the fields that it covers, lower case. */
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
