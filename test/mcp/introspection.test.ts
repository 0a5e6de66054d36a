import { describe, expect, it } from 'vitest';
import { ALL_ON, ask, connectTo, startProduct } from './helpers/product.ts';

interface Capabilities {
  readonly namespaces: readonly { readonly name: string; readonly description: string }[];
  readonly schemas: Readonly<Record<string, { readonly namespace: string; readonly summary: string }>>;
  readonly limits: { readonly maxEventHistory: number };
}

const SWITCHED = {
  resources: ['resources_list', 'resources_read', 'resources_watch'],
  'events-bus': ['events_watch'],
  bulk: ['prune_batch', 'recover_batch'],
};

describe('mcp_info', () => {
  it('describes the server, its transports and its enabled features', async () => {
    const proxy = await startProduct({ MCP_PRUNER_ENABLE: 'bulk', MCP_PRUNER_MAX_EVENTS: '77' });
    expect(await ask(proxy, 'mcp_info')).toEqual({
      server: { name: 'mcp-pruner', version: '0.0.0-test', mcpVersion: '2025-11-25' },
      transports: {
        stdio: { enabled: false },
        http: { enabled: true, host: '127.0.0.1', port: proxy.port, path: '/rpc', enableJson: true, stateless: true },
      },
      features: {
        enableMcpIntrospection: true,
        enableBulk: true,
        enableResources: false,
        enableEventsBus: false,
        enableIdempotency: false,
        enableFleet: false,
        enableChildren: false,
        enableGraphs: false,
        enableStigmergy: false,
        enableReactiveScheduler: false,
        enableCNP: false,
        enableBT: false,
        enableBlackboard: false,
        enableCancellation: false,
        enableTx: false,
        enableLocks: false,
        enableDiffPatch: false,
        enablePlanLifecycle: false,
        enableChildOpsFine: false,
        enableValuesExplain: false,
        enableAssist: false,
      },
      timings: expect.objectContaining({ pruneTimeoutMs: 10_000, pruneIdTtlMs: 604_800_000 }),
      safety: expect.objectContaining({ mode: 'prune', backend: 'heuristic', authRequired: false }),
      limits: { maxInputBytes: 32 * 1024 * 1024, defaultTimeoutMs: 10_000, maxEventHistory: 77 },
    });
  });

  it('never contains a secret', async () => {
    const proxy = await startProduct({ DEEPINFRA_API_KEY: 'di-very-secret', KIMI_PRUNING_BACKEND: 'deepinfra' });
    expect(JSON.stringify(await ask(proxy, 'mcp_info'))).not.toContain('very-secret');
  });

  it('takes no arguments', async () => {
    const proxy = await startProduct();
    for (const tool of ['mcp_info', 'mcp_capabilities']) {
      expect(await proxy.call(tool, { verbose: true })).toMatchObject({
        error: { code: -32602, data: { issues: [{ field: 'verbose', message: 'Unrecognized key' }] } },
      });
    }
  });

  it('is unavailable and names its flag if introspection is switched off', async () => {
    const proxy = await startProduct({ MCP_PRUNER_ENABLE: '-mcp-introspection' });
    const { tools } = await (await connectTo(proxy)).listTools();
    expect(tools.map(({ name }) => name).filter((name) => name.startsWith('mcp_'))).toEqual([]);
    for (const tool of ['mcp_info', 'mcp_capabilities']) {
      const { error } = await proxy.call(tool, {});
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('--enable-mcp-introspection') });
    }
  });
});

describe('mcp_capabilities', () => {
  it('names exactly the tools that tools/list shows, each with its namespace', async () => {
    for (const env of [{}, ALL_ON]) {
      const proxy = await startProduct(env);
      const { tools } = await (await connectTo(proxy)).listTools();
      const { namespaces, schemas, limits } = await ask<Capabilities>(proxy, 'mcp_capabilities');
      expect(Object.keys(schemas).sort()).toEqual(tools.map(({ name }) => name).sort());
      const names = namespaces.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      for (const { namespace, summary } of Object.values(schemas)) {
        expect(names).toContain(namespace);
        expect(summary.length).toBeGreaterThan(10);
      }
      for (const { description } of namespaces) expect(description.length).toBeGreaterThan(10);
      expect(names.includes('idempotency')).toBe(env === ALL_ON);
      expect(limits).toEqual({ maxEventHistory: 100_000 });
    }
  });
});

describe('a tool family that is switched off', () => {
  it('is neither listed nor callable, and names the flag that enables it', async () => {
    const proxy = await startProduct();
    const listed = (await (await connectTo(proxy)).listTools()).tools.map(({ name }) => name);
    for (const [feature, tools] of Object.entries(SWITCHED)) {
      for (const tool of tools) {
        expect(listed).not.toContain(tool);
        const { error } = await proxy.call(tool, {});
        expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(`--enable-${feature}`) });
      }
    }
  });

  it.each(Object.entries(SWITCHED))('is available with %s alone', async (feature, tools) => {
    const proxy = await startProduct({ MCP_PRUNER_ENABLE: feature });
    const listed = (await (await connectTo(proxy)).listTools()).tools.map(({ name }) => name);
    const others = Object.values(SWITCHED)
      .flat()
      .filter((name) => !tools.includes(name));
    expect(listed).toEqual(expect.arrayContaining(tools));
    expect(listed.filter((name) => others.includes(name))).toEqual([]);
  });
});
