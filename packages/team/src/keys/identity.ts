import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIPv6 } from 'node:net';
import type { Admitted, KeyRefusal } from './admission.ts';
import { viewerOf } from './gate.ts';

interface IdentityOptions {
  readonly userHeader: string;
  /** Header with the user's groups, comma-separated. */
  readonly groupsHeader: string;
  /** Addresses of authenticating proxies, as CIDR blocks or single addresses. */
  readonly proxies: readonly string[];
  /** Lines `group=project`; a group may occur several times, and the project `*` grants all. */
  readonly groupProjects: readonly string[];
}

const MAX_USER_CHARS = 150;

/**
 * Users and groups from the headers of an authenticating proxy. Trusted only in requests from the proxy's addresses.
 */
export class Identities {
  /** Headers, in lower case, that only trusted proxies may send. They are removed from all other requests. */
  readonly headers: readonly string[];
  readonly #userHeader: string;
  readonly #groupsHeader: string;
  readonly #proxies = new BlockList();
  readonly #projects: readonly (readonly [group: string, project: string])[];

  constructor({ userHeader, groupsHeader, proxies, groupProjects }: IdentityOptions) {
    this.#userHeader = userHeader.toLowerCase();
    this.#groupsHeader = groupsHeader.toLowerCase();
    this.headers = [this.#userHeader, this.#groupsHeader];
    for (const proxy of proxies) {
      const [address = '', bits] = proxy.split('/');
      const family = isIPv6(address) ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#proxies.addAddress(address, family);
      else this.#proxies.addSubnet(address, Number(bits), family);
    }
    this.#projects = groupProjects.map((pair) => {
      const at = pair.lastIndexOf('=');
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
    });
  }

  /**
   * The user named by a request; `null` if there is none, or the request does not come from an authenticating proxy.
   *
   * @param address - peer address of the connection
   * @param project - project named by the request, or `''`
   */
  of(address: string, headers: IncomingHttpHeaders, project: string): Admitted | KeyRefusal | null {
    const user = textOf(headers[this.#userHeader]).slice(0, MAX_USER_CHARS);
    if (user === '' || !this.#isTrusted(address)) return null;
    const groups = new Set(
      textOf(headers[this.#groupsHeader])
        .split(',')
        .map((group) => group.trim()),
    );
    const projects = [...new Set(this.#projects.flatMap(([group, own]) => (groups.has(group) ? own : [])))];
    if (projects.length === 0) return 'user_without_project';
    const viewer = viewerOf(projects, project);
    return viewer === null ? 'key_project' : { keyId: `user:${user}`, viewer, limited: 'no' };
  }

  #isTrusted(address: string): boolean {
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    return plain !== '' && this.#proxies.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
  }
}

/** Node decodes header bytes as latin-1, and joins the values of a repeated header. */
function textOf(value: string | string[] | undefined): string {
  return Buffer.from(String(value ?? ''), 'latin1')
    .toString('utf8')
    .trim();
}
