import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compiled } from '../../../test/helpers/built.ts';
import { type BuildOptions, buildMcpServers } from '../src/mcp-servers.ts';

const cwd = '/work/project';
const entry = '/lib/mcp-pruner/dist/index.js';
const on = { JEEVES_PRUNER_ENABLED: 'true' };

function build(env: Record<string, string | undefined>, options: BuildOptions = {}) {
  const lines: string[] = [];
  const servers = buildMcpServers(env, cwd, {
    onDiagnostic: (line) => lines.push(line),
    candidates: [entry],
    isReadableFile: (path) => path === entry,
    ...options,
  });
  return { servers, lines };
}

describe('JEEVES_PRUNER_ENABLED', () => {
  it.each(['1', 'true', 'yes', 'on', 'TRUE', ' on '])('%j injects the pruner', (word) => {
    expect(build({ JEEVES_PRUNER_ENABLED: word })).toEqual({
      servers: {
        pruner: {
          command: 'node',
          args: [entry],
          env: { PRUNER_URL: 'http://localhost:8000/prune', MCP_PRUNER_CWD: cwd },
        },
      },
      lines: [],
    });
  });

  it.each([undefined, '', '0', 'false', 'no', 'off', 'enabled', '2', 'truee'])(
    '%j injects nothing, with a diagnostic',
    (word) => {
      const { servers, lines } = build({ JEEVES_PRUNER_ENABLED: word });
      expect(servers).toBeUndefined();
      expect(lines).toEqual([expect.stringMatching(/^MCP pruner disabled: JEEVES_PRUNER_ENABLED/)]);
    },
  );
});

describe('JEEVES_PRUNER_URL', () => {
  it.each(['', 'http://127.0.0.1:8006/prune', 'https://pruner.example:444/a?b=c#d', 'HTTP://Pruner.example'])(
    '%j is passed on unchanged',
    (url) => {
      const { servers, lines } = build({ ...on, JEEVES_PRUNER_URL: url });
      expect(servers?.pruner?.env).toEqual({ PRUNER_URL: url, MCP_PRUNER_CWD: cwd });
      expect(lines).toEqual([]);
    },
  );

  it.each(['localhost:8000', '/prune', 'ftp://host/x', 'http:', 'http://', 'http:host', 'http://a b/', ' '])(
    '%j disables the pruner for the run, with a diagnostic',
    (url) => {
      const { servers, lines } = build({ ...on, JEEVES_PRUNER_URL: url });
      expect(servers).toBeUndefined();
      expect(lines).toEqual([expect.stringContaining('JEEVES_PRUNER_URL')]);
    },
  );
});

describe('the entry point', () => {
  it('is always the file named by JEEVES_MCP_PRUNER_PATH, without a fallback', () => {
    const named = { ...on, JEEVES_MCP_PRUNER_PATH: '/elsewhere/index.js' };
    const all = { isReadableFile: () => true };
    expect(build(named, all).servers?.pruner?.args).toEqual(['/elsewhere/index.js']);
    expect(build({ ...on, JEEVES_MCP_PRUNER_PATH: 'dist/x.js' }, all).servers?.pruner?.args).toEqual([
      '/work/project/dist/x.js',
    ]);
    const { servers, lines } = build(named);
    expect(servers).toBeUndefined();
    expect(lines).toEqual([expect.stringContaining('JEEVES_MCP_PRUNER_PATH')]);
  });

  it('is the first readable default candidate', () => {
    const candidates = ['/first', '/second', '/third'];
    const isReadableFile = (path: string) => path !== '/first';
    expect(build({ ...on, JEEVES_MCP_PRUNER_PATH: '' }, { candidates, isReadableFile }).servers?.pruner?.args).toEqual([
      '/second',
    ]);
  });

  it('disables the pruner for the run if it is missing, with a diagnostic', () => {
    const { servers, lines } = build(on, { candidates: [] });
    expect(servers).toBeUndefined();
    expect(lines).toEqual([expect.stringContaining('entry point')]);
  });

  describe('on a real disk', () => {
    let folder: string;

    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-agents-'));
      writeFileSync(join(folder, 'index.js'), '');
    });

    afterAll(() => rmSync(folder, { recursive: true }));

    it('must be a file', () => {
      expect(buildMcpServers({ ...on, JEEVES_MCP_PRUNER_PATH: 'index.js' }, folder)?.pruner?.args).toEqual([
        join(folder, 'index.js'),
      ]);
      expect(buildMcpServers({ ...on, JEEVES_MCP_PRUNER_PATH: folder }, folder)).toBeUndefined();
    });

    it('is found without being named, by the built package', async () => {
      const library = (await import(compiled('index.js'))) as { buildMcpServers: typeof buildMcpServers };
      expect(library.buildMcpServers(on, folder)?.pruner?.args).toEqual([compiled('index.js')]);
    });
  });
});
