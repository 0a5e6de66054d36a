import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Clock } from '../../core/ports.ts';
import { type CredentialScope, credentialScope } from '../../wires/providers/bedrock.ts';
import { withoutQuery } from '../../wires/providers/provider.ts';
import { pairsOf } from './headers.ts';

interface AwsSigningOptions {
  /** The proxy's own credentials, or `null`. */
  readonly credentials: AwsCredentials | null;
  /** `own`: re-signs requests that were signed with these credentials. `all`: signs every request that needs it. */
  readonly signs: 'own' | 'all';
  /** Region for unsigned requests; if `null`, they are not signed. */
  readonly region: string | null;
  readonly clock: Clock;
}

interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A request to sign or verify. */
interface SignedRequest {
  /** Path and query as sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Body as sent. */
  readonly body: Buffer;
}

/** Region and service of a new signature, and the client headers it covers. */
export type SigningScope = Pick<CredentialScope, 'region' | 'service' | 'signedHeaders'>;

/**
 * How a request may be handled. `open`: no signature covers its body. `closed`: it must be forwarded unchanged, because
 * of `reason`. `resign`: changes are allowed and require a new signature.
 */
export type Treatment =
  | { readonly kind: 'open' }
  | { readonly kind: 'closed'; readonly reason: 'signed_by_client' | 'not_signed' }
  | { readonly kind: 'resign'; readonly scope: SigningScope };

/** AWS rejects signatures that are older, or dated in the future. */
const MAX_AGE_MS = 15 * 60_000;
const SHA256 = 'x-amz-content-sha256';
const UNSIGNED = 'UNSIGNED-PAYLOAD';
/** Headers set by signing, and headers of the upstream connection. */
const REMADE = new Set(['authorization', 'x-amz-date', 'x-amz-security-token', SHA256, 'host', 'content-length']);

/**
 * AWS Signature Version 4: verifies signatures, and signs changed requests. Source:
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
export class AwsSigning {
  readonly #options: AwsSigningOptions;
  readonly #signer: SignatureV4 | null;

  constructor(options: AwsSigningOptions) {
    this.#options = options;
    this.#signer = options.credentials && signerOf(options.credentials, true);
  }

  /** The proxy's own session token, which AWS echoes in signature errors; `null` without one. */
  get sessionToken(): string | null {
    return this.#options.credentials?.sessionToken ?? null;
  }

  /** How a received request may be handled. Never rejects. */
  async treatmentOf(request: SignedRequest): Promise<Treatment> {
    const { headers, url } = request;
    const { authorization } = headers;
    const { signs, region } = this.#options;
    const scope = credentialScope(authorization);
    const isSigned = authorization?.startsWith('AWS4-') === true || /[?&]x-amz-signature=/i.test(url);
    if (!isSigned && (authorization ?? headers['x-api-key'] ?? headers['api-key']) !== undefined)
      return { kind: 'open' };
    if (this.#signer !== null) {
      if (scope !== null && signs === 'all' && scope.service.startsWith('bedrock')) {
        return { kind: 'resign', scope: region === null ? scope : { ...scope, region } };
      }
      if (scope !== null && (await this.#isOwn(request, scope))) return { kind: 'resign', scope };
      if (!isSigned && signs === 'all' && region !== null) {
        return { kind: 'resign', scope: { region, service: 'bedrock', signedHeaders: [] } };
      }
    }
    return { kind: 'closed', reason: isSigned ? 'signed_by_client' : 'not_signed' };
  }

  /**
   * Signs a request.
   *
   * @param fields - end-to-end headers: name, value, …
   * @param origin - destination
   * @returns the headers including the signature and `Host`
   */
  async sign(
    fields: readonly string[],
    { region, service, signedHeaders }: SigningScope,
    origin: string,
    request: Omit<SignedRequest, 'headers'>,
  ): Promise<string[]> {
    if (this.#signer === null) throw new Error('there are no credentials to sign with');
    const kept = pairsOf(fields).filter(([name]) => !REMADE.has(name.toLowerCase()));
    const covered = new Set([...signedHeaders, 'content-type']);
    const headers: Record<string, string> = { host: new URL(origin).host };
    for (const [name, value] of kept) if (covered.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
    const signed = await this.#signer.sign(requestOf({ ...request, headers }), {
      signingDate: new Date(this.#options.clock.nowMs()),
      signingRegion: region,
      signingService: service,
      signableHeaders: new Set(Object.keys(headers)),
    });
    const made = Object.entries(signed.headers).filter(([name]) => REMADE.has(name));
    return [...kept.flat(), ...made.flat()];
  }

  /** Whether a request carries a valid signature made with the proxy's own credentials. */
  async #isOwn({ url, headers, body }: SignedRequest, scope: CredentialScope): Promise<boolean> {
    const { credentials, clock } = this.#options;
    if (credentials === null || scope.keyId !== credentials.accessKeyId) return false;
    const signedAt = dateOf(headers['x-amz-date']);
    if (signedAt === null || Math.abs(clock.nowMs() - signedAt.getTime()) > MAX_AGE_MS) return false;
    const claimed = headers[SHA256];
    if (claimed !== undefined && claimed !== UNSIGNED && claimed !== sha256(body)) return false;
    const covered: Record<string, string> = {};
    for (const name of scope.signedHeaders) {
      const value = headers[name];
      if (value !== undefined) covered[name] = Array.isArray(value) ? value.join(',') : value;
    }
    const { accessKeyId, secretAccessKey } = credentials;
    try {
      const signed = await signerOf({ accessKeyId, secretAccessKey }, false).sign(
        requestOf({ url, headers: covered, body }),
        {
          signingDate: signedAt,
          signingRegion: scope.region,
          signingService: scope.service,
          signableHeaders: new Set(scope.signedHeaders),
        },
      );
      return isSame(credentialScope(signed.headers.authorization)?.signature ?? '', scope.signature);
    } catch {
      return false; // a request that cannot be signed has no valid signature
    }
  }
}

function signerOf(credentials: AwsCredentials, applyChecksum: boolean): SignatureV4 {
  // region and service differ per request
  return new SignatureV4({ credentials, applyChecksum, region: '', service: '', sha256: Sha256 });
}

function requestOf({ url, headers, body }: SignedRequest & { readonly headers: Record<string, string> }) {
  const path = withoutQuery(url);
  const query: Record<string, string[]> = {};
  const asked = new URLSearchParams(url.slice(path.length));
  for (const name of new Set(asked.keys())) query[name] = asked.getAll(name);
  return { method: 'POST', protocol: 'https:', hostname: headers.host ?? '', path, query, headers, body };
}

/** SHA-256 behind the interface that `SignatureV4` expects. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    throw new Error('Sha256 instances cannot be reused');
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}

function sha256(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Parses `20261124T031500Z`. */
function dateOf(value: string | string[] | undefined): Date | null {
  const [, y, mo, d, h, mi, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(String(value)) ?? [];
  if (y === undefined) return null;
  const date = new Date(`${y}-${mo}-${d}T${h}:${mi}:${s}Z`);
  return Number.isNaN(date.getTime()) ? null : date;
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
