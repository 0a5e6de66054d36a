import { describe, expect, it } from 'vitest';
import { callFacts, callsRecovery } from '../../../src/wires/transcript/tools.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';

function factsOf(name: string, args: unknown) {
  return callFacts({ name, args: typeof args === 'string' ? args : JSON.stringify(args) });
}

describe('the origin of a result', () => {
  it.each([
    ['read_file', { path: 'src/a.ts' }, 'read', 'src/a.ts'],
    ['Read', { file_path: '/w/a.ts' }, 'read', '/w/a.ts'],
    ['readFile', { filePath: 'a.ts' }, 'read', 'a.ts'],
    ['view', { path: 'a.ts' }, 'read', 'a.ts'],
    ['mcp__fs__read_text_file', { path: 'a.ts' }, 'read', 'a.ts'],
    ['read_many_files', { files: [{ path: 'a.ts' }, { path: 'b.ts' }] }, 'read', 'a.ts'],
    ['grep', { pattern: 'x', path: 'src' }, 'search', 'src'],
    ['search_files', { regex: 'x', path: 'src' }, 'search', 'src'],
    ['codebase_search', { query: 'x' }, 'search', undefined],
    ['list_directory', { path: 'src' }, 'listing', 'src'],
    ['glob', { pattern: '**/*.ts' }, 'listing', undefined],
    ['bash', { command: 'npm test' }, 'command', undefined],
    ['run_shell_command', { command: 'npm test' }, 'command', undefined],
    ['bash', { command: 'cat src/a.ts' }, 'read', 'src/a.ts'],
    ['bash', { command: 'cd /w && cat src/a.ts' }, 'read', 'src/a.ts'],
    ['bash', { command: "sed -n '1,200p' src/a.ts" }, 'read', 'src/a.ts'],
    ['bash', { command: 'nl -ba src/a.ts | head -50' }, 'read', 'src/a.ts'],
    ['bash', { command: 'sed -i s/a/b/ src/a.ts' }, 'command', undefined],
    ['bash', { command: 'grep -rn x src' }, 'search', undefined],
    ['bash', { command: 'cat a.log | grep ERROR' }, 'search', undefined],
    ['bash', { command: 'git grep x' }, 'search', undefined],
    ['bash', { command: 'rg x src' }, 'search', undefined],
    ['bash', { command: 'ls -la src' }, 'listing', undefined],
    ['bash', { command: 'find . -name "*.ts"' }, 'listing', undefined],
    ['bash', { command: 'cat a.json | jq .' }, 'command', undefined],
    ['shell', { command: ['bash', '-lc', 'cat src/a.ts'] }, 'read', 'src/a.ts'],
    ['shell', { command: ['/bin/sh', '-c', 'cat src/a.ts'] }, 'read', 'src/a.ts'],
    ['exec_command', { cmd: "bash -lc 'cd app; cat src/a.ts'" }, 'read', 'src/a.ts'],
    ['shell', { command: ['bash', '-lc', 'npm test'] }, 'command', undefined],
    ['str_replace_based_edit_tool', { command: 'view', path: 'src/a.ts' }, 'read', 'src/a.ts'],
    ['str_replace_editor', { command: 'view', path: 'src/a.ts', view_range: [1, 20] }, 'read', 'src/a.ts'],
    ['str_replace_editor', { command: 'str_replace', path: 'a.ts', old_str: 'x', new_str: 'y' }, 'read', 'a.ts'],
    ['bash', { command: 'ls', path: '/w' }, 'listing', undefined],
    ['bash', { command: 'make', path: '/w' }, 'command', undefined],
    ['whatever', { path: 'a.ts' }, 'read', 'a.ts'],
    ['whatever', { x: 1 }, 'unknown', undefined],
  ])('%s %j is %s', (name, args, origin, path) => {
    const { hints } = factsOf(name, args);
    expect({ origin: hints.origin, path: hints.path }).toEqual({ origin, path });
  });

  it('is assumed to be a file read if there is no call', () => {
    expect(callFacts(undefined)).toEqual({ hints: { origin: 'read' }, question: '', said: '' });
  });

  it('includes the command, which is used to recognise kinds', () => {
    expect(factsOf('bash', { command: 'cargo test' }).hints.command).toBe('cargo test');
  });
});

describe('the intent of a call', () => {
  it('is its explicit question if it has one', () => {
    expect(factsOf('read', { file_path: 'a.ts', context_focus_question: 'Where is the cache filled?' }).question).toBe(
      'Where is the cache filled?',
    );
    expect(factsOf('tool_call', { name: 'read', arguments: { context_focus_question: 'Where?' } }).question).toBe(
      'Where?',
    );
  });

  it('is described by patterns, paths and commands otherwise', () => {
    expect(factsOf('grep', { pattern: 'fillCache', path: 'src' }).said).toBe('fillCache\nsrc');
  });

  it("is described by the path alone if the command is an editor's verb", () => {
    const { said, hints } = factsOf('str_replace_based_edit_tool', { command: 'view', path: 'src/a.ts' });
    expect(said).toBe('src/a.ts');
    expect(hints.command).toBeUndefined();
  });

  it('is described by the raw arguments if they are not JSON', () => {
    expect(factsOf('bash', 'npm test').said).toBe('npm test');
  });

  it.each([
    ['null', 'null'],
    ['a list', '[1,2]'],
    ['a number', '1'],
    ['broken JSON', '{"path":'],
    ['nothing', ''],
    ['a key of the prototype', '{"__proto__":{"path":"a"},"constructor":1}'],
    ['deep nesting', `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`],
  ])('ignores arguments that are %s', (_name, args) => {
    expect(() => factsOf('bash', args)).not.toThrow();
  });

  it.each([
    ['a long command', JSON.stringify({ command: `${'a|'.repeat(90_000)}` })],
    ['a long word', JSON.stringify({ command: 'a'.repeat(190_000) })],
    ['many slashes', JSON.stringify({ command: `cat ${'/'.repeat(190_000)}` })],
    ['many dots', JSON.stringify({ command: `cat ${'.'.repeat(190_000)}` })],
    ['many numbers', JSON.stringify({ command: `${'1 '.repeat(90_000)}` })],
    [
      'many keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`key${i}`, { path: 'x' }]))),
    ],
  ])('reads %s quickly', (_name, args) => {
    const startedAt = cpuMs();
    const call = { name: 'bash', args };
    for (let i = 0; i < 5; i++) {
      callFacts(call);
      callsRecovery(call);
    }
    expect(cpuMs() - startedAt).toBeLessThan(500);
  });

  it('reads a long tool name quickly', () => {
    const startedAt = cpuMs();
    const call = { name: 'aB_'.repeat(100_000), args: '{}' };
    callFacts(call);
    callsRecovery(call);
    expect(cpuMs() - startedAt).toBeLessThan(500);
  });
});

describe('a call that requests originals', () => {
  it.each([
    'recover_text',
    'recover_range',
    'mcp__pruner__recover_text',
    'mcp__mcp-pruner__recover_text',
    'pruner_recover_text',
    'pruner__recover_text',
    'mcp-pruner-recover_text',
    'mcp.pruner.recover_text',
  ])('is recognised by its name: %s', (name) => {
    expect(callsRecovery({ name, args: '{}' })).toBe(true);
  });

  it.each([
    ['tool_call', { name: 'mcp__pruner__recover_text', arguments: { prune_id: 'prn_X' } }],
    ['call_mcp_tool', { tool_name: 'recover_text', args: {} }],
    ['use_mcp_tool', { server_name: 'pruner', tool_name: 'recover_text', arguments: '{}' }],
    ['mcp', { tool: 'pruner_recover_text' }],
    ['bridge', { arguments: { name: 'somebody' }, name: 'recover_text' }],
  ])('is recognised through a bridge: %s %j', (name, args) => {
    expect(callsRecovery({ name, args: JSON.stringify(args) })).toBe(true);
  });

  it.each([
    ['recover_texts', {}],
    ['text_recover', {}],
    ['bash', { command: 'echo recover_text' }],
    ['read', { path: 'src/mcp/tools/recover_text.ts' }],
    ['grep', { pattern: '"name": "recover_text"' }],
    ['unrecover_text', {}],
  ])('is not recognised in others: %s %j', (name, args) => {
    expect(callsRecovery({ name, args: JSON.stringify(args) })).toBe(false);
  });
});
