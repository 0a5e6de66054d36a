import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Edit, JsonValue } from '../../src/agents/clients/client.ts';
import { undoEdit, writeEdit } from '../../src/agents/edit-file.ts';
import { applyEdit, EditRefused, removeEdit } from '../../src/agents/edit-text.ts';

const json = (file: string, url = 'http://127.0.0.1:8006/rpc'): Edit => ({
  format: 'json',
  file,
  entries: [
    { path: ['mcpServers', 'pruner'], value: { url } },
    { path: ['model'], value: 'x', ifAbsent: true },
  ],
});

const toml = (file: string, url = 'http://127.0.0.1:8006/v1'): Edit => ({
  format: 'toml',
  file,
  top: { model_provider: 'mcp-pruner' },
  tables: {
    'model_providers.mcp-pruner': { base_url: url },
    'mcp_servers.pruner': { command: 'node', args: ['a', 'b'] },
  },
});

describe('an edit of JSON', () => {
  it('adds its entries and leaves everything else, order and indentation too', () => {
    const text = '{\n    "z": 1,\n    "mcpServers": {\n        "other": {}\n    },\n    "a": [1, 2]\n}';
    expect(applyEdit(text, json('f'))).toBe(
      '{\n    "z": 1,\n    "mcpServers": {\n        "other": {},\n        "pruner": {\n            "url": "http://127.0.0.1:8006/rpc"\n        }\n    },\n    "a": [\n        1,\n        2\n    ],\n    "model": "x"\n}',
    );
  });

  it('leaves a value that the user chose where it only fills a gap', () => {
    expect(JSON.parse(applyEdit('{"model":"mine"}', json('f')))).toMatchObject({ model: 'mine' });
  });

  it('taken out again leaves the value that was there', () => {
    const value: fc.Arbitrary<JsonValue> = fc.dictionary(
      fc.constantFrom('mcpServers', 'model', 'a', '__proto__'),
      fc.oneof(fc.constant(1), fc.dictionary(fc.constantFrom('pruner', 'other'), fc.string())),
    ) as fc.Arbitrary<JsonValue>;
    fc.assert(
      fc.property(value, (before) => {
        const text = JSON.stringify(before);
        const edited = applyEdit(text, json('f'));
        expect(JSON.parse(removeEdit(edited, text, json('f')))).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each(['// comment\n{}', '[]', '"x"', '{'])('refuses a file that holds %j', (text) => {
    expect(() => applyEdit(text, json('f'))).toThrow(EditRefused);
  });
});

describe('an edit of TOML', () => {
  it('puts top keys before all tables and tables after them, comments and all else kept', () => {
    const text = '# mine\nmodel = "m"\n\n[tools]\nweb = true # yes\n';
    const edited = applyEdit(text, toml('f'));
    expect(edited).toContain(text);
    expect(parse(edited)).toEqual({
      model: 'm',
      model_provider: 'mcp-pruner',
      tools: { web: true },
      model_providers: { 'mcp-pruner': { base_url: 'http://127.0.0.1:8006/v1' } },
      mcp_servers: { pruner: { command: 'node', args: ['a', 'b'] } },
    });
  });

  it.each(['', '# only a comment\n', 'a = 1', 'a = 1\n', 'a = 1\n\n', '[t]\nb = 2\n'])(
    'made twice is the same, and taken out leaves %j',
    (text) => {
      const once = applyEdit(text, toml('f'));
      expect(applyEdit(once, toml('f'))).toBe(once);
      expect(removeEdit(once, text, toml('f')).trimEnd()).toBe(text.trimEnd());
    },
  );

  it.each(['model_provider = "mine"\n', '[mcp_servers.pruner]\nurl = "x"\n', 'not toml ['])(
    'refuses a file that says %j',
    (text) => {
      expect(() => applyEdit(text, toml('f'))).toThrow(EditRefused);
    },
  );
});

describe('a file that is edited', () => {
  let root: string;
  let folder: string;
  let file: string;
  let made = 0;

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'mcp-pruner-edits-'));
  });

  beforeEach(() => {
    folder = join(root, String(made++));
    mkdirSync(folder);
    file = join(folder, 'config');
  });

  afterAll(() => rmSync(root, { recursive: true }));

  const text = () => readFileSync(file, 'utf8');
  const other = 'http://127.0.0.1:9000/rpc';

  it('comes back byte for byte', () => {
    const before = '{"b":1,   "a" :2}\r\n';
    writeFileSync(file, before);
    const { outcome, backup = '' } = writeEdit(json(file));
    expect(outcome).toBe('written');
    expect(readFileSync(backup, 'utf8')).toBe(before);
    expect(undoEdit(json(file))).toMatchObject({ outcome: 'restored' });
    expect(text()).toBe(before);
    expect(readdirSync(folder)).toEqual(['config']);
  });

  it('goes again when there was none, folders made on the way aside', () => {
    file = join(folder, 'deep/er/config');
    writeEdit(toml(file));
    expect(text()).toContain('model_provider');
    expect(undoEdit(toml(file))).toMatchObject({ outcome: 'removed' });
    expect(readdirSync(join(folder, 'deep/er'))).toEqual([]);
  });

  it('keeps what its user changed in the meantime', () => {
    writeFileSync(file, 'a = 1\n');
    writeEdit(toml(file));
    writeFileSync(file, `${text()}\n[mine]\nb = 2\n`);
    expect(undoEdit(toml(file))).toMatchObject({ outcome: 'taken out' });
    expect(parse(text())).toEqual({ a: 1, mine: { b: 2 } });
    expect(readdirSync(folder)).toEqual(['config']);
  });

  it('edited twice comes back as it was before the first time', () => {
    writeFileSync(file, '{"a":1}');
    writeEdit(json(file));
    expect(writeEdit(json(file))).toMatchObject({ outcome: 'unchanged' });
    writeEdit(json(file, other));
    expect(JSON.parse(text())).toEqual({ a: 1, mcpServers: { pruner: { url: other } }, model: 'x' });
    expect(readdirSync(folder)).toHaveLength(2);
    undoEdit(json(file, other));
    expect(text()).toBe('{"a":1}');
  });

  it('edited twice with a change of the user in between keeps that change', () => {
    writeFileSync(file, '{"a":1}');
    writeEdit(json(file));
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(text()) as object), mine: true }));
    writeEdit(json(file, other));
    undoEdit(json(file, other));
    expect(JSON.parse(text())).toEqual({ a: 1, mine: true });
  });

  it('keeps its rights, and stays where a link leads', () => {
    const real = join(folder, 'real');
    writeFileSync(real, '{}');
    chmodSync(real, 0o600);
    symlinkSync(real, file);
    writeEdit(json(file));
    expect(statSync(real).mode & 0o777).toBe(0o600);
    expect(readFileSync(real, 'utf8')).toContain('pruner');
    undoEdit(json(file));
    expect(readFileSync(real, 'utf8')).toBe('{}');
  });

  it('that is refused is not touched', () => {
    writeFileSync(file, '{ // mine\n}');
    expect(() => writeEdit(json(file))).toThrow(EditRefused);
    expect(readdirSync(folder)).toEqual(['config']);
    expect(undoEdit(json(file))).toMatchObject({ outcome: 'nothing to undo' });
  });
});
