import { describe, expect, it } from 'vitest';
import { callTool, contentOf, NOW_MS, post, pruneArgs, request, send, startRpcServer } from './helpers/rpc-server.ts';

const pruneTextSchema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    goal_hint: { type: 'string' },
    source_type: { type: 'string', enum: ['code', 'logs', 'docs'] },
    options: {
      type: 'object',
      properties: {
        max_prune_ratio: { type: 'number', minimum: 0, maximum: 1 },
        min_keep_lines: { type: 'integer', minimum: 0 },
        timeout_ms: { type: 'integer', minimum: 1 },
        annotate_lines: { type: 'boolean' },
        include_markers: { type: 'boolean' },
      },
      required: ['max_prune_ratio', 'min_keep_lines', 'timeout_ms', 'annotate_lines', 'include_markers'],
      additionalProperties: false,
    },
  },
  required: ['text', 'goal_hint', 'source_type', 'options'],
  additionalProperties: false,
};

const recoverTextSchema = {
  type: 'object',
  properties: {
    prune_id: { type: 'string' },
    ranges: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          start_line: { type: 'integer', minimum: 1 },
          end_line: { type: 'integer', minimum: 1 },
        },
        required: ['start_line', 'end_line'],
        additionalProperties: false,
      },
    },
    include_line_numbers: { type: 'boolean' },
  },
  required: ['prune_id', 'ranges', 'include_line_numbers'],
  additionalProperties: false,
};

describe('tools/list', () => {
  it('lists prune_text, recover_text and health with exactly the schemas of the contract', async () => {
    const { port } = await startRpcServer();
    for (const params of [{}, undefined, null, { cursor: 'x' }]) {
      const { result } = await request(port, 'tools/list', params);
      const tools = result?.tools as readonly { name: string; description: string; inputSchema: object }[];
      expect(tools.map(({ name }) => name)).toEqual(['prune_text', 'recover_text', 'health']);
      expect(tools.map(({ inputSchema }) => inputSchema)).toStrictEqual([
        pruneTextSchema,
        recoverTextSchema,
        { type: 'object', properties: {}, additionalProperties: false },
      ]);
      expect(tools.every(({ description }) => description.length > 20)).toBe(true);
    }
  });
});

describe('the curl examples of the contract', () => {
  it('list, prune and recover with no header except a content type', async () => {
    const { port, pruner } = await startRpcServer();
    const list = await send(port, '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}');
    expect(list.status).toBe(200);
    expect(list.headers['content-type']).toBe('application/json');
    expect(JSON.parse(list.body)).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      result: { tools: [{ name: 'prune_text' }, {}, {}] },
    });

    const pruned = await post(port, {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'prune_text', arguments: pruneArgs() },
    });
    expect(pruned.id).toBe(2);
    expect(pruned.result).toEqual({ content: [{ type: 'text', text: expect.any(String) }] });
    const { prune_id } = contentOf(pruned);
    const marker = `⟦PRUNÉ: prune_id=${prune_id} lignes 2-3 (2) raison=hors focus⟧`;
    expect(contentOf(pruned)).toEqual({
      prune_id: expect.stringMatching(/^prn_\S+$/),
      pruned_text: `1│ L1\n${marker}\n4│ L4`,
      annotations: [
        {
          kind: 'pruned_block',
          original_start_line: 2,
          original_end_line: 3,
          pruned_line_count: 2,
          reason: 'hors focus',
          marker,
        },
      ],
      stats: {
        original_lines: 4,
        kept_lines: 2,
        pruned_lines: 2,
        pruned_ratio: 0.5,
        tokens_est_before: 12,
        tokens_est_after: 5,
        elapsed_ms: 1,
        used_fallback: false,
        backend: 'heuristic',
      },
      warnings: ['cache_hit'],
    });
    expect(pruner.inputs[0]).toEqual({
      text: 'L1\nL2\nL3\nL4',
      goalHint: 'garder L1',
      sourceType: 'docs',
      options: { maxPruneRatio: 0.75, minKeepLines: 1, timeoutMs: 1500, annotateLines: true, includeMarkers: true },
    });

    const args = { prune_id, ranges: [{ start_line: 1, end_line: 50 }], include_line_numbers: true };
    const recovered = await callTool(port, 'recover_text', args, 3);
    expect(recovered.id).toBe(3);
    expect(contentOf(recovered)).toEqual({
      raw_text: '1│ L1\n2│ L2\n3│ L3\n4│ L4',
      metadata: { prune_id, ranges: [{ start_line: 1, end_line: 50 }], line_numbering: 'original' },
    });
  });

  it('get an answer to initialize without capabilities, as the troubleshooting page sends it', async () => {
    const { port } = await startRpcServer();
    const { result } = await post(port, {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', clientInfo: { name: 'diag', version: '1.0.0' } },
    });
    expect(result).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: false } },
      serverInfo: { name: 'mcp-pruner', version: '0.1.0' },
      instructions: expect.stringContaining('⟦PRUNÉ: prune_id='),
    });
    expect(String(result?.instructions)).toContain('recover_text');
  });

  it('get the same health from the tool and from the method', async () => {
    const { port } = await startRpcServer();
    const expected = {
      status: 'healthy',
      server: 'mcp-pruner',
      version: '0.1.0',
      capabilities: ['prune_text', 'recover_text', 'annotations', 'markers'],
      timestamp: new Date(NOW_MS).toISOString(),
      store: { state: 'ok' },
    };
    expect((await request(port, 'health')).result).toEqual(expected);
    expect(contentOf(await callTool(port, 'health', {}))).toEqual(expected);
    expect(contentOf(await callTool(port, 'health', undefined))).toEqual(expected);
  });
});

describe('recovery', () => {
  it('is also available as recover_range', async () => {
    const { port, calls } = await startRpcServer();
    const { prune_id } = contentOf(await callTool(port, 'prune_text', pruneArgs()));
    const args = { prune_id, ranges: [{ start_line: 3, end_line: 3 }], include_line_numbers: false };
    expect(contentOf(await callTool(port, 'recover_range', args)).raw_text).toBe('L3');
    expect(calls.map(({ tool }) => tool)).toEqual(['prune_text', 'recover_text']);
  });

  it('treats a huge end_line as the end of the text', async () => {
    const { port } = await startRpcServer();
    const { prune_id } = contentOf(await callTool(port, 'prune_text', pruneArgs()));
    const args = { prune_id, ranges: [{ start_line: 3, end_line: 1e20 }], include_line_numbers: false };
    expect(contentOf(await callTool(port, 'recover_text', args)).raw_text).toBe('L3\nL4');
  });

  it('returns lone surrogates, NUL and carriage returns unchanged', async () => {
    const { port } = await startRpcServer();
    const text = 'a\r\nb\ud800c\0\r\nd 😀\u2028\ne\nf';
    const { prune_id } = contentOf(await callTool(port, 'prune_text', pruneArgs({ text })));
    const args = { prune_id, ranges: [{ start_line: 1, end_line: 9 }], include_line_numbers: false };
    expect(contentOf(await callTool(port, 'recover_text', args)).raw_text).toBe(text);
  });
});

describe('the server with an invalid call', () => {
  it('returns prune_id_not_found in the form of the contract, with advice', async () => {
    const { port } = await startRpcServer();
    const args = { prune_id: 'prn_gone', ranges: [{ start_line: 1, end_line: 2 }], include_line_numbers: true };
    const raw = await send(
      port,
      JSON.stringify({
        jsonrpc: '2.0',
        id: 12,
        method: 'tools/call',
        params: { name: 'recover_text', arguments: args },
      }),
    );
    expect(raw.status).toBe(200);
    expect(JSON.parse(raw.body)).toStrictEqual({
      jsonrpc: '2.0',
      id: 12,
      error: {
        code: -32004,
        message: 'prune_id_not_found',
        data: { code: 'prune_id_not_found', prune_id: 'prn_gone', hint: 'Do not retry: read the file again.' },
      },
    });
  });

  it.each([
    [0, 3],
    [-4, 3],
    [1, 0],
    [5, 4],
  ])('calls the range %i-%i an invalid_range', async (start_line, end_line) => {
    const { port } = await startRpcServer();
    const args = { prune_id: 'prn_x', ranges: [{ start_line, end_line }], include_line_numbers: true };
    expect((await callTool(port, 'recover_text', args)).error).toStrictEqual({
      code: -32005,
      message: 'invalid_range',
      data: { code: 'invalid_range', prune_id: 'prn_x', hint: 'Do not retry: read the file again.' },
    });
  });

  it('returns recovery_unavailable if the originals cannot be read', async () => {
    const { port } = await startRpcServer();
    const args = { prune_id: 'prn_unavailable', ranges: [], include_line_numbers: true };
    expect((await callTool(port, 'recover_text', args)).error).toMatchObject({
      code: -32006,
      message: 'recovery_unavailable',
      data: { code: 'recovery_unavailable', prune_id: 'prn_unavailable' },
    });
  });

  const range = { start_line: 1, end_line: 2 };
  it.each([
    ['prune_text', { ...pruneArgs(), text: undefined }, 'text'],
    ['prune_text', { ...pruneArgs(), text: null }, 'text'],
    ['prune_text', { ...pruneArgs(), source_type: 'poem' }, 'source_type'],
    ['prune_text', { ...pruneArgs(), options: undefined }, 'options'],
    ['prune_text', { ...pruneArgs(), extra: 1 }, 'extra'],
    ['prune_text', pruneArgs({ options: { max_prune_ratio: 1.01 } }), 'options.max_prune_ratio'],
    ['prune_text', pruneArgs({ options: { max_prune_ratio: -0.1 } }), 'options.max_prune_ratio'],
    ['prune_text', pruneArgs({ options: { min_keep_lines: -1 } }), 'options.min_keep_lines'],
    ['prune_text', pruneArgs({ options: { min_keep_lines: 1.5 } }), 'options.min_keep_lines'],
    ['prune_text', pruneArgs({ options: { timeout_ms: 0 } }), 'options.timeout_ms'],
    ['prune_text', pruneArgs({ options: { annotate_lines: 'yes' } }), 'options.annotate_lines'],
    ['prune_text', pruneArgs({ options: { unknown: 1 } }), 'options.unknown'],
    ['recover_text', { prune_id: 7, ranges: [], include_line_numbers: true }, 'prune_id'],
    ['recover_text', { prune_id: 'p', ranges: {}, include_line_numbers: true }, 'ranges'],
    ['recover_text', { prune_id: 'p', ranges: Array(10_001).fill(range), include_line_numbers: true }, 'ranges'],
    [
      'recover_text',
      { prune_id: 'p', ranges: [range, { ...range, end_line: 1.5 }], include_line_numbers: true },
      'ranges[1].end_line',
    ],
    [
      'recover_text',
      { prune_id: 'p', ranges: [{ ...range, extra: 1 }], include_line_numbers: true },
      'ranges[0].extra',
    ],
    ['recover_text', { prune_id: 'p', ranges: [] }, 'include_line_numbers'],
    ['recover_text', [], 'arguments'],
    ['health', { verbose: true }, 'verbose'],
    ['no_such_tool', {}, 'name'],
    [undefined, {}, 'name'],
    [7, {}, 'name'],
  ])('refuses %s with a bad argument and names the field', async (name, args, field) => {
    const { port } = await startRpcServer();
    const { error } = await callTool(port, name as string, args);
    expect(error).toMatchObject({ code: -32602, data: { code: 'invalid_params', issues: [{ field }] } });
    expect(error?.message.startsWith(`Invalid params: ${field}: `)).toBe(true);
  });

  it('accepts values at the bounds', async () => {
    const { port, pruner } = await startRpcServer();
    for (const options of [
      { max_prune_ratio: 0, min_keep_lines: 0, timeout_ms: 1 },
      { max_prune_ratio: 1, timeout_ms: 1e20 },
    ]) {
      expect((await callTool(port, 'prune_text', pruneArgs({ options }))).error).toBeUndefined();
    }
    expect(pruner.inputs[1]?.options.timeoutMs).toBe(2 ** 31 - 1);
  });

  it.each(['tools/unknown', 'logging/setLevel', 'completion/complete', '__proto__', 'constructor', ''])(
    'has no method "%s"',
    async (method) => {
      const { port, calls } = await startRpcServer();
      expect((await request(port, method)).error).toMatchObject({ code: -32601 });
      expect(calls).toMatchObject([{ method: 'unknown', errorCode: -32601 }]);
    },
  );

  it('hides internal failures from the client and shows them to the operator', async () => {
    const { port, calls } = await startRpcServer();
    const raw = await send(
      port,
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'prune_text', arguments: pruneArgs({ goal_hint: 'explode' }) },
      }),
    );
    expect(raw.status).toBe(200);
    expect(JSON.parse(raw.body)).toStrictEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: 'Internal error', data: { code: 'internal_error' } },
    });
    expect(calls).toMatchObject([{ method: 'tools/call', tool: 'prune_text', errorCode: -32603 }]);
    expect(calls[0]?.fault).toBeInstanceOf(Error);
  });
});

describe('the server without resources and prompts', () => {
  it.each([
    ['resources/list', { resources: [] }],
    ['resources/templates/list', { resourceTemplates: [] }],
    ['prompts/list', { prompts: [] }],
    ['ping', {}],
  ])('answers %s', async (method, result) => {
    const { port } = await startRpcServer();
    expect((await request(port, method)).result).toEqual(result);
  });
});
