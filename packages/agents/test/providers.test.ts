import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import type { McpServers } from '../src/mcp-servers.ts';
import { toClaudeOptions, toCodexArgs } from '../src/providers.ts';

const mcpServers = {
  pruner: { command: 'node', args: ['/a b/index.js', '--x'], env: { PRUNER_URL: '', MCP_PRUNER_CWD: '/w' } },
};

describe('toClaudeOptions', () => {
  it('passes the servers on unchanged', () => {
    expect(toClaudeOptions({ mcpServers }).mcpServers).toBe(mcpServers);
  });

  it('returns no mcpServers option without servers', () => {
    expect(toClaudeOptions({})).toEqual({});
    expect('mcpServers' in toClaudeOptions({})).toBe(false);
  });
});

/** What Codex makes of `--config` arguments: each is one line of TOML. */
function asToml(args: readonly string[]): unknown {
  return parse(args.filter((_, i) => i % 2 === 1).join('\n'));
}

describe('toCodexArgs', () => {
  it('overrides the configuration key by key', () => {
    expect(toCodexArgs({ mcpServers })).toEqual([
      '--config',
      'mcp_servers.pruner.command="node"',
      '--config',
      'mcp_servers.pruner.args=["/a b/index.js","--x"]',
      '--config',
      'mcp_servers.pruner.env.PRUNER_URL=""',
      '--config',
      'mcp_servers.pruner.env.MCP_PRUNER_CWD="/w"',
    ]);
  });

  it('leaves out missing args, but not an empty list', () => {
    expect(toCodexArgs({ mcpServers: { a: { command: 'x' } } })).toEqual(['--config', 'mcp_servers.a.command="x"']);
    expect(toCodexArgs({ mcpServers: { a: { command: 'x', args: [] } } })).toContain('mcp_servers.a.args=[]');
  });

  it('returns nothing without servers, and never sets a url or another transport', () => {
    expect(toCodexArgs({})).toEqual([]);
    expect(toCodexArgs({ mcpServers }).join(' ')).not.toMatch(/\.url=|streamable_http/);
  });

  it('passes any values through unchanged', () => {
    const text = fc.string({ unit: 'grapheme' });
    const server = fc.record({
      command: text,
      args: fc.array(text),
      env: fc.dictionary(fc.stringMatching(/^[A-Z_]+$/), text),
    });
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z_-]+$/), server, { minKeys: 1 }), (servers: McpServers) => {
        const { mcp_servers } = asToml(toCodexArgs({ mcpServers: servers })) as { mcp_servers: McpServers };
        for (const [name, { command, args, env }] of Object.entries(servers)) {
          expect(mcp_servers[name]?.command).toBe(command);
          expect(mcp_servers[name]?.args).toEqual(args);
          expect({ ...mcp_servers[name]?.env }).toEqual({ ...env });
        }
      }),
      { numRuns: 50 },
    );
  });

  it('refuses a name that Codex would split', () => {
    expect(() => toCodexArgs({ mcpServers: { 'a.b': { command: 'x' } } })).toThrow(RangeError);
    expect(() => toCodexArgs({ mcpServers: { a: { command: 'x', env: { 'b c': '' } } } })).toThrow(RangeError);
  });
});
