import {
  chmodSync,
  lstatSync,
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
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { parse } from 'smol-toml';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Edit, JsonValue } from '../src/clients/client.ts';
import { type EditOutcome, undoEdits, writeEdits } from '../src/edit-file.ts';
import { applyEdit, removeEdit } from '../src/edit-text.ts';

const only = ([outcome]: readonly EditOutcome[]): EditOutcome => {
  if (outcome === undefined) throw new Error('no outcome');
  return outcome;
};
const writeEdit = (edit: Edit): EditOutcome => only(writeEdits([edit]));
const undoEdit = (edit: Edit): EditOutcome => only(undoEdits([edit]));

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
  it('adds its entries and leaves everything else unchanged, including order and indentation', () => {
    const text = '{\n    "z": 1,\n    "mcpServers": {\n        "other": {}\n    },\n    "a": [1, 2]\n}';
    expect(applyEdit(text, json('f'))).toBe(
      '{\n    "z": 1,\n    "mcpServers": {\n        "other": {},\n        "pruner": {\n            "url": "http://127.0.0.1:8006/rpc"\n        }\n    },\n    "a": [1, 2],\n    "model": "x"\n}',
    );
  });

  it('keeps a value that the user chose if the edit only sets missing values', () => {
    expect(JSON.parse(applyEdit('{"model":"mine"}', json('f')))).toMatchObject({ model: 'mine' });
  });

  it('restores the earlier value when it is undone', () => {
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

  it('keeps comments, trailing commas and the spelling of numbers', () => {
    const text =
      '\ufeff{\r\n  // mine\r\n  "id": 12345678901234567890, "f": 1.0, /* two */\r\n  "mcpServers": {},\r\n}\r\n';
    const edit: Edit = { ...json('f'), comments: true } as Edit;
    const edited = applyEdit(text, edit);
    for (const piece of ['\ufeff{\r\n  // mine', '12345678901234567890, "f": 1.0, /* two */']) {
      expect(edited).toContain(piece);
    }
    expect(edited.replaceAll('\r\n', '')).not.toContain('\n');
    expect(edited).toContain('"url": "http://127.0.0.1:8006/rpc"');
    const removed = removeEdit(edited, text, edit);
    expect(removed).toContain('12345678901234567890, "f": 1.0, /* two */');
    expect(removed).not.toContain('pruner');
  });

  it('keeps integers beyond 2^53, also when it restores an old value', () => {
    const text = '{"mcpServers":{"pruner":{"id":12345678901234567890}},"big":9007199254740993}';
    const edited = applyEdit(text, json('f'));
    expect(edited).toContain('9007199254740993');
    expect(removeEdit(edited, text, json('f'))).toContain('{"id":12345678901234567890}');
  });

  it('refuses a file with a duplicate key', () => {
    const text = '{"mcpServers":{"a":1},"mcpServers":{"b":2}}';
    expect(() => applyEdit(text, json('f'))).toThrow(/twice/);
  });

  it.each(['// comment\n{}', '[]', '"x"', '{'])('refuses a file that contains %j', (text) => {
    expect(() => applyEdit(text, json('f'))).toThrow(UserError);
  });
});

describe('an edit of TOML', () => {
  it('puts top-level keys before all tables and tables after them, and keeps comments and everything else', () => {
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
    'changes nothing when repeated, and leaves %j when undone',
    (text) => {
      const once = applyEdit(text, toml('f'));
      expect(applyEdit(once, toml('f'))).toBe(once);
      expect(removeEdit(once, text, toml('f')).trimEnd()).toBe(text.trimEnd());
    },
  );

  it('keeps lines that an agent inserted between the lines of the edit', () => {
    const edited = applyEdit('a = 1\n', toml('f'));
    const foreign = '[projects."/home/me"]\ntrust_level = "trusted"';
    const end = edited.lastIndexOf('# <<<');
    const mixed = `${edited.slice(0, end)}\n${foreign}\n${edited.slice(end)}`;
    expect(parse(removeEdit(mixed, 'a = 1\n', toml('f')))).toEqual({
      a: 1,
      projects: { '/home/me': { trust_level: 'trusted' } },
    });
  });

  it.each(['top', 'tables'])('keeps all content of the user if the end marker of our %s is missing', (which) => {
    const text = 'a = 1\n# note\n[mine]\nb = 2\n';
    const edited = `${applyEdit(text, toml('f'))}\n# after\n[later]\nc = 3\n`;
    const end = '# <<< mcp-pruner <<<\n';
    const at = which === 'top' ? edited.indexOf(end) : edited.lastIndexOf(end);
    const broken = edited.slice(0, at) + edited.slice(at + end.length);
    const removed = removeEdit(broken, text, toml('f'));
    expect(parse(removed)).toEqual({ a: 1, mine: { b: 2 }, later: { c: 3 } });
    expect(removed).toContain('# note');
    expect(removed).toContain('# after');
  });

  it('refuses mcp_servers as an inline table and names it, and accepts large numbers', () => {
    expect(() => applyEdit('mcp_servers = { other = { url = "x" } }\n', toml('f'))).toThrow(
      /mcp_servers as an inline table/,
    );
    expect(applyEdit('id = 12345678901234567\n', toml('f'))).toContain('id = 12345678901234567\n');
  });

  it.each(['model_provider = "mine"\n', '[mcp_servers.pruner]\nurl = "x"\n', 'not toml ['])(
    'refuses a file that contains %j',
    (text) => {
      expect(() => applyEdit(text, toml('f'))).toThrow(UserError);
    },
  );
});

describe('an edited file', () => {
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

  it('is restored byte for byte', () => {
    const before = '{"b":1,   "a" :2}\r\n';
    writeFileSync(file, before);
    const { outcome, backup = '' } = writeEdit(json(file));
    expect(outcome).toBe('written');
    expect(readFileSync(backup, 'utf8')).toBe(before);
    expect(undoEdit(json(file))).toMatchObject({ outcome: 'restored' });
    expect(text()).toBe(before);
    expect(readdirSync(folder)).toEqual(['config']);
  });

  it('is removed if it did not exist before, with the folders created for it', () => {
    file = join(folder, 'deep/er/config');
    writeEdit(toml(file));
    expect(text()).toContain('model_provider');
    expect(undoEdit(toml(file))).toMatchObject({ outcome: 'removed' });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('keeps changes that the user made in the meantime', () => {
    writeFileSync(file, 'a = 1\n');
    writeEdit(toml(file));
    writeFileSync(file, `${text()}\n[mine]\nb = 2\n`);
    expect(undoEdit(toml(file))).toMatchObject({ outcome: 'taken out' });
    expect(parse(text())).toEqual({ a: 1, mine: { b: 2 } });
    expect(readdirSync(folder)).toEqual(['config']);
  });

  it('is restored to its state before the first of two edits', () => {
    writeFileSync(file, '{"a":1}');
    writeEdit(json(file));
    expect(writeEdit(json(file))).toMatchObject({ outcome: 'unchanged' });
    writeEdit(json(file, other));
    expect(JSON.parse(text())).toEqual({ a: 1, mcpServers: { pruner: { url: other } }, model: 'x' });
    expect(readdirSync(folder)).toHaveLength(2);
    undoEdit(json(file, other));
    expect(text()).toBe('{"a":1}');
  });

  it('keeps a change that the user made between two edits', () => {
    writeFileSync(file, '{"a":1}');
    writeEdit(json(file));
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(text()) as object), mine: true }));
    writeEdit(json(file, other));
    undoEdit(json(file, other));
    expect(JSON.parse(text())).toEqual({ a: 1, mine: true });
  });

  it('keeps its permissions, and is edited at the target of a symbolic link', () => {
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

  it('is refused and left unchanged if it is not UTF-8', () => {
    const bytes = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xe9, 0x22, 0x7d]); // Latin-1
    writeFileSync(file, bytes);
    expect(() => writeEdit(json(file))).toThrow(/not UTF-8/);
    expect(readFileSync(file)).toEqual(bytes);
    expect(readdirSync(folder)).toEqual(['config']);
  });

  it('keeps a byte order mark', () => {
    writeFileSync(file, '\ufeff{"a":1}');
    writeEdit(json(file));
    expect(text()).toMatch(/^\ufeff\{/);
    undoEdit(json(file));
    expect(text()).toBe('\ufeff{"a":1}');
  });

  it('is created at the target of a dangling link', () => {
    const real = join(folder, 'elsewhere/real');
    symlinkSync('elsewhere/real', file);
    writeEdit(json(file));
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toContain('pruner');
    undoEdit(json(file));
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readdirSync(folder)).toEqual(['config']);
  });

  it('is written together with all other files of its setup, or not at all', () => {
    const other = join(folder, 'other');
    writeFileSync(other, '{ // mine\n}');
    expect(() => writeEdits([json(file), json(other)])).toThrow(UserError);
    expect(readdirSync(folder)).toEqual(['other']);

    writeFileSync(other, '{}');
    // a folder stands where the new text is prepared
    mkdirSync(`${other}.new/x`, { recursive: true });
    expect(() => writeEdits([json(file), json(other)])).toThrow();
    expect(readdirSync(folder)).toEqual(['other', 'other.new']);
    expect(readFileSync(other, 'utf8')).toBe('{}');
  });

  it('is readable only by the user while it contains a token, and gets its permissions back', () => {
    writeFileSync(file, '{}');
    chmodSync(file, 0o644);
    writeEdit({ ...json(file), secret: true });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    undoEdit(json(file));
    expect(statSync(file).mode & 0o777).toBe(0o644);
  });

  it('is left unchanged when it is refused', () => {
    writeFileSync(file, '{ // mine\n}');
    expect(() => writeEdit(json(file))).toThrow(UserError);
    expect(readdirSync(folder)).toEqual(['config']);
    expect(undoEdit(json(file))).toMatchObject({ outcome: 'nothing to undo' });
  });
});
