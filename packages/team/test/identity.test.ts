import { once } from 'node:events';
import { createServer, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadSettings } from 'mcp-pruner/config/load.ts';
import { servingProblem } from 'mcp-pruner/config/warnings.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { describe, expect, it } from 'vitest';
import { machine } from '../../../test/config/machine.ts';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { send } from '../../../test/helpers/wire.ts';
import { Identities } from '../src/keys/identity.ts';
import { aLog, Member, newKey, onFile, startTeam } from './team.ts';

/** The address from which the stand-in below connects; clients of the test connect from 127.0.0.1. */
const GATEWAY = '127.0.0.2';
const USERS: Readonly<Record<string, string>> = {
  ann: 'eng-web, guests',
  bob: 'eng-api',
  ops: 'platform',
  guest: 'guests',
};

/** Users of proxies at these addresses, whose groups open projects. */
function signIn(proxies = ['10.0.0.0/8', GATEWAY], groups = ['eng-web=web', 'eng-api=api', 'platform=*']) {
  const [addresses, pairs] = [JSON.stringify(proxies), JSON.stringify(groups)];
  return { MCP_PRUNER_SIGN_IN: `header = "X-Forwarded-User", proxies = ${addresses}, groups = ${pairs}` };
}

const identity = signIn();

/** A stand-in for oauth2-proxy: asks who somebody is, and puts the answer into headers in place of what came. */
async function startGateway(target: string): Promise<string> {
  const { hostname, port } = new URL(target);
  const server = createServer((req, res) => {
    const { 'x-login': login, 'x-forwarded-user': _user, 'x-forwarded-groups': _groups, ...headers } = req.headers;
    if (typeof login !== 'string' || USERS[login] === undefined) {
      res.writeHead(302, { location: '/oauth2/start' }).end();
      return;
    }
    const signedIn: OutgoingHttpHeaders = {
      ...headers,
      'x-forwarded-user': `${login}@example.com`,
      'x-forwarded-groups': USERS[login],
    };
    if (signedIn['x-mcp-pruner-key'] === '') delete signedIn['x-mcp-pruner-key'];
    const { method, url: path } = req;
    const onward = request({ hostname, port, method, path, headers: signedIn, localAddress: GATEWAY }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Somebody who signed in at the gateway and has no key. */
class User extends Member {
  readonly #login: string;

  constructor(url: string, login: string) {
    super({ url }, '');
    this.#login = login;
  }

  override send(path: string, body?: Buffer | string | object, headers: Record<string, string> = {}) {
    return super.send(path, body, { 'x-login': this.#login, ...headers });
  }
}

describe('behind an authenticating proxy', () => {
  it('a user needs no key, sees only the projects of their groups, and is not named to the provider', async () => {
    const place = await onFile();
    const stage = await startTeam(place, identity);
    const gateway = await startGateway(stage.url);
    const [ann, bob, ops] = ['ann', 'bob', 'ops'].map((login) => new User(gateway, login)) as [User, User, User];
    const id = await ann.prunes(stage, aLog(1));
    const seen = stage.upstream.requests.at(-1);
    expect(Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith('x-forwarded'))).toEqual([]);
    expect(seen?.rawHeaders.join('\n')).not.toContain('ann@example.com');
    expect(await ann.recover(id)).toMatchObject({ metadata: { prune_id: id } });
    expect(await bob.recover(id)).toMatchObject({ error: { code: -32004 } });
    expect(await ops.recover(id)).toMatchObject({ metadata: { prune_id: id } });
    const other = { 'x-mcp-pruner-project': 'api' };
    expect((await ann.send('/v1/chat/completions', { messages: [] }, other)).status).toBe(403);
    expect((await ops.send('/metrics')).status).toBe(200);
    expect((await ann.send('/metrics')).status).not.toBe(200);
    expect((await ann.send('/page/api/requests')).status).toBe(200);
  });

  it('a user without a known group is refused, and so is a user who did not sign in', async () => {
    const stage = await startTeam(await onFile(), identity);
    const gateway = await startGateway(stage.url);
    const { status, body } = await new User(gateway, 'guest').send('/v1/chat/completions', { messages: [] });
    expect([status, JSON.parse(body.toString())]).toMatchObject([403, { error: { code: 'user_without_project' } }]);
    expect((await new User(gateway, 'nobody').send('/v1/models')).status).toBe(302);
    expect(stage.upstream.requests).toEqual([]);
  });

  it('headers from other addresses are removed, and a key is required', async () => {
    const place = await onFile();
    const stage = await startTeam(place, identity);
    const forged = { 'x-forwarded-user': 'ops@example.com', 'X-Forwarded-Groups': 'platform' };
    const { status } = await send(`${stage.url}/v1/models`, { method: 'GET', headers: forged });
    expect(status).toBe(401);
    const member = new Member(stage, await newKey(place, 'web'));
    await member.send('/v1/chat/completions', { model: 'm', messages: [] }, { ...forged, authorization: 'Bearer sk' });
    await member.send('/v1/files', { purpose: 'x' }, { ...forged, authorization: 'Bearer sk' });
    expect(stage.upstream.requests).toHaveLength(2);
    for (const { rawHeaders } of stage.upstream.requests)
      expect(rawHeaders.join('\n')).not.toMatch(/forwarded|platform/i);
    // a key that comes through the gateway is what counts
    const gateway = await startGateway(stage.url);
    const both = await send(`${gateway}/metrics`, {
      method: 'GET',
      headers: { 'x-login': 'ops', 'x-mcp-pruner-key': await newKey(place, 'api') },
    });
    expect(both.status).not.toBe(200);
  });

  it('addresses are compared by value, including IPv4 addresses in IPv6 form', () => {
    const identities = new Identities({
      userHeader: 'x-user',
      groupsHeader: 'x-groups',
      proxies: ['10.1.0.0/16', 'fd00::/8', '192.0.2.7'],
      groupProjects: ['a=web', 'a=api', 'b=c=web'],
    });
    const from = (address: string, groups = 'a') => identities.of(address, { 'x-user': 'u', 'x-groups': groups }, '');
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '192.0.2.7']) {
      expect([address, from(address)]).toMatchObject([
        address,
        { keyId: 'user:u', viewer: { projects: ['web', 'api'] } },
      ]);
    }
    for (const address of ['10.2.0.1', '::ffff:192.0.2.8', 'fe80::1', '127.0.0.1', '']) {
      expect([address, from(address)]).toEqual([address, null]);
    }
    expect(from('10.1.0.1', 'b=c')).toMatchObject({ viewer: { projects: ['web'] } });
    expect(from('10.1.0.1', 'A')).toBe('user_without_project');
  });

  it('an incomplete or invalid identity header setup prevents the start, and the error names the setting', () => {
    const problemOf = (env: Readonly<Record<string, string>>) =>
      servingProblem(loadSettings(machine({ env })).settings, edition.settings);
    expect(problemOf(identity)).toBeNull();
    expect(problemOf(signIn([]))).toContain('MCP_PRUNER_SIGN_IN');
    expect(problemOf({ ...identity, MCP_PRUNER_REQUIRE_KEY: 'false' })).toContain('MCP_PRUNER_REQUIRE_KEY');
    expect(problemOf(signIn([GATEWAY], ['web']))).toContain('"web"');
    const load = () => loadSettings(machine({ env: signIn(['10.0.0.0/33']) }));
    expect(load).toThrow(/MCP_PRUNER_SIGN_IN.*CIDR/s);
  });
});
