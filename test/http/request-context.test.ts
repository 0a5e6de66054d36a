import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { admitted } from '../../src/proxy/doors/gatekeeper.ts';
import { contextOf, withRequestId } from '../../src/proxy/request-context.ts';

function request(headers: Readonly<Record<string, string>>): IncomingMessage {
  const req = new IncomingMessage(new Socket());
  Object.assign(req.headers, headers);
  return req;
}

describe('the context of a request', () => {
  it('has the project and the task named in its headers, including non-ASCII names', () => {
    const name = Buffer.from('café', 'utf8').toString('latin1');
    const { scope } = contextOf(request({ 'x-mcp-pruner-project': name, 'x-mcp-pruner-task': ' t1 ' }), 'r1');
    expect(scope).toMatchObject({ project: 'café', task: 't1', requestId: 'r1' });
    expect(contextOf(request({}), 'r2').scope.project).toBe('default');
  });

  it('has the project of the admitting key, and leaves the headers of the client unchanged', () => {
    const req = request({ 'x-mcp-pruner-project': 'theirs' });
    admitted.set(req, { keyId: 'k', viewer: { projects: ['ours'], project: 'ours' } });
    expect(contextOf(req, 'r').scope.project).toBe('ours');
    expect(req.headers['x-mcp-pruner-project']).toBe('theirs');
  });

  it('distinguishes clients by a hash of their provider keys', () => {
    const callers = ['sk-secret-1', 'sk-secret-2', 'sk-secret-1'].map(
      (key) => contextOf(request({ authorization: `Bearer ${key}` }), '').caller,
    );
    expect(callers[0]).toBe(callers[2]);
    expect(callers[0]).not.toBe(callers[1]);
    expect(callers.join()).not.toContain('secret');
  });

  it.each([
    ['claude-cli/2.1.332 (external, cli)', 'claude-cli', 'claude-cli/2.1.332'],
    ['GeminiCLI/v0.61.0/gemini-3-pro (linux; x64)', 'GeminiCLI', 'GeminiCLI/0.61.0'],
    ['codex_cli_rs (linux)', 'codex_cli_rs', 'codex_cli_rs'],
    ['', 'unknown', 'unknown'],
  ])('has the client and its version: %s', (agent, client, withVersion) => {
    const context = contextOf(request({ 'user-agent': agent }), '');
    expect([context.client, context.scope.client, context.scope.agent]).toEqual([client, client, withVersion]);
  });

  it('of a connection is shared by its requests, except for the request id', () => {
    const connection = contextOf(request({ 'x-mcp-pruner': ' OFF ' }), '');
    const one = withRequestId(connection, 'r1');
    expect([one.isOff, one.requestId, one.scope.requestId]).toEqual([true, 'r1', 'r1']);
  });
});
