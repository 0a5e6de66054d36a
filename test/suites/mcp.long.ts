import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { compiled } from '../helpers/built.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { fileOf, importOf, installSuites, nodeOfSuites } from './installed.ts';

const run = promisify(execFile);
const CONFORMANCE = '@modelcontextprotocol/conformance/dist/index.js';
const INSPECTOR = '@modelcontextprotocol/inspector/clients/launcher/build/index.js';
const ENVIRONMENT = { MCP_PRUNER_DB_PATH: ':memory:', MCP_PRUNER_ENABLE: 'resources' };

/** Scenarios of both revisions that call tools, prompts or resources of a fixture, or features that are not announced. */
const NEEDS_FIXTURE =
  /^(?:completion-|elicitation-|logging-|prompts-|resources-(?:read|templates|subscribe|unsubscribe)|tools-call-|input-required-|tasks-|json-schema-|http-custom-header-)/;
/** Single checks that call tools of a fixture, or want prompts. */
const FIXTURE_CHECKS = [
  'sep-2243-server-accepts-whitespace-header-value',
  'sep-2549-prompts-list-caching-hints',
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-missing-capability-http-400',
  'sep-2575-server-no-log-without-loglevel',
  'sep-2575-server-rejects-undeclared-capability',
];

interface Check {
  readonly id: string;
  readonly status: string;
}

/** Runs all scenarios of a revision. @returns the checks by scenario */
async function conformance(node: string, url: string, revision: string): Promise<Map<string, readonly Check[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const args = [fileOf(CONFORMANCE), 'server', '--url', `${url}/mcp`, '--requirements', revision, '-o', folder];
  await run(node, args, { cwd: folder, maxBuffer: 1e8 }).catch(() => {}); // it fails if any check does
  const scenarios = readdirSync(folder).map((name): [string, readonly Check[]] => [
    name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, ''),
    JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as readonly Check[],
  ]);
  return new Map(scenarios);
}

interface Connected {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: object): Promise<{ readonly content: readonly { readonly text: string }[] }>;
  getNegotiatedProtocolVersion(): string | undefined;
  getInstructions(): string | undefined;
}

type ClientClass = new (info: object, options: object) => Connected;
type TransportClass = new (target: object) => object;

describe('suites of the Model Context Protocol', () => {
  let node = '';
  beforeAll(() => {
    installSuites();
    node = nodeOfSuites();
  }, 600_000);

  it.each([
    ['2025-11-25', 8],
    ['2026-07-28', 8],
  ])('conformance of %s: all but what needs a fixture', async (revision, scenarios) => {
    const { url } = await startServerProcess({ env: ENVIRONMENT });
    const checks = await conformance(node, url, revision);
    const own = [...checks].filter(([name]) => !NEEDS_FIXTURE.test(name));
    expect(own.map(([name]) => name).length).toBeGreaterThanOrEqual(scenarios);
    const failed = own.flatMap(([, all]) => all.filter(({ status }) => status === 'FAILURE').map(({ id }) => id));
    expect(failed.filter((id) => !FIXTURE_CHECKS.includes(id))).toEqual([]);
  });

  it.each([
    ['legacy', '2025-11-25'],
    ['auto', '2026-07-28'],
    [{ pin: '2026-07-28' }, '2026-07-28'],
  ])('the official client in mode %j speaks %s, over HTTP and stdio', async (mode, version) => {
    const { Client, StreamableHTTPClientTransport } = await importOf<{
      Client: ClientClass;
      StreamableHTTPClientTransport: TransportClass;
    }>('@modelcontextprotocol/client/dist/index.mjs');
    const { StdioClientTransport } = await importOf<{ StdioClientTransport: TransportClass }>(
      '@modelcontextprotocol/client/dist/stdio.mjs',
    );
    const { url } = await startServerProcess({ env: ENVIRONMENT });
    const command = {
      command: process.execPath,
      args: [compiled('cli.js'), 'stdio', '--tools', 'pruner'],
      env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', ...ENVIRONMENT },
      stderr: 'ignore',
    };
    for (const open of [
      () => new StreamableHTTPClientTransport(new URL('/mcp', url)),
      () => new StdioClientTransport(command),
    ]) {
      const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      await client.connect(open());
      expect(client.getNegotiatedProtocolVersion()).toBe(version);
      expect(client.getInstructions()).toContain('recover_text');
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('recover_text');
      const { content } = await client.callTool({ name: 'health', arguments: {} });
      expect(JSON.parse(content[0]?.text ?? '')).toMatchObject({ store: 'ok' });
      const args = { prune_id: 'prn_gone', ranges: [], include_line_numbers: false };
      await expect(client.callTool({ name: 'recover_text', arguments: args })).rejects.toMatchObject({ code: -32004 });
      await client.close();
    }
  });

  it('the inspector lists and calls tools, over HTTP and stdio', async () => {
    const { url } = await startServerProcess({ env: ENVIRONMENT });
    const targets = [
      [`${url}/mcp`, '--transport', 'http'],
      [process.execPath, compiled('cli.js'), 'stdio', '--tools', 'pruner'],
    ];
    for (const target of targets) {
      const inspect = async (...args: string[]): Promise<string> => {
        const all = [fileOf(INSPECTOR), '--cli', ...target, ...args];
        const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...ENVIRONMENT };
        return (await run(node, all, { env, timeout: 60_000 })).stdout;
      };
      expect(await inspect('--method', 'tools/list')).toContain('"recover_text"');
      expect(await inspect('--method', 'tools/call', '--tool-name', 'health')).toContain('status');
    }
  });
});
