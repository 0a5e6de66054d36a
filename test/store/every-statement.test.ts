import { Database } from '@mcp-pruner/team/postgres/database.ts';
import { parseAst } from 'rolldown/parseAst';
import type { ESTree } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';
import { edition } from '../../src/edition.ts';
import { postgresStatement, sqliteStatement } from '../../src/store/sql/common-sql.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { hasPostgres, newDatabase } from '../helpers/postgres.ts';
import { importedFile, sourceFiles } from '../helpers/project-files.ts';
import { tempPath } from './helpers.ts';

type Node = ESTree.Node;
/** What a name of a file stands for: an expression, or a name of another file. */
type Meaning = { readonly value: Node } | { readonly file: string; readonly name: string };

const clock = { nowMs: () => 1 };
/** Statements of one database, and definitions of tables. */
const NOT_COMMON = /^(?:src\/store\/(?:sqlite|schema|move)|packages\/team\/src\/postgres)\//;
const STATEMENT = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b[\s\S]*\bmain\.\w/;

const texts = new Map(
  sourceFiles(/\.ts$/).flatMap(({ file, text }) => (NOT_COMMON.test(file) ? [] : [[file, text] as const])),
);
const modules = new Map<string, { readonly body: readonly Node[]; readonly names: Map<string, Meaning> }>();

function moduleOf(file: string) {
  const known = modules.get(file);
  if (known) return known;
  const { body } = parseAst(texts.get(file) ?? '', { lang: 'ts' }, file);
  const names = new Map<string, Meaning>();
  for (const node of nodesIn(body)) {
    if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.init)
      names.set(node.id.name, { value: node.init });
    if (node.type !== 'ImportDeclaration') continue;
    const target = importedFile(file, node.source.value);
    if (target === null) continue;
    for (const one of node.specifiers)
      if (one.type === 'ImportSpecifier' && one.imported.type === 'Identifier')
        names.set(one.local.name, { file: target, name: one.imported.name });
  }
  const made = { body, names };
  modules.set(file, made);
  return made;
}

function* nodesIn(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value) yield value as Node;
  for (const child of Object.values(value)) yield* nodesIn(child);
}

/** The text of an expression made of literals and constants; `null` for any other. */
function textOf(node: Node, file: string): string | null {
  if (node.type === 'Literal') return typeof node.value === 'object' ? null : String(node.value);
  if (node.type === 'TemplateLiteral') {
    const values = node.expressions.map((value) => textOf(value, file));
    if (values.includes(null)) return null;
    return node.quasis.map(({ value }, i) => `${value.cooked}${values[i] ?? ''}`).join('');
  }
  if (node.type !== 'Identifier') return null;
  const meaning = texts.has(file) ? moduleOf(file).names.get(node.name) : undefined;
  if (!meaning) return null;
  return 'value' in meaning ? textOf(meaning.value, file) : textOf({ ...node, name: meaning.name }, meaning.file);
}

/**
 * The statements whose whole text is in the sources, without those that are parts of others. What is put together at
 * run time is tested where it is used.
 */
function allStatements(): readonly string[] {
  const found = new Set<string>();
  for (const [file, text] of texts) {
    for (const node of /\bmain\.\w/.test(text) ? nodesIn(moduleOf(file).body) : []) {
      const sql = node.type === 'Literal' || node.type === 'TemplateLiteral' ? textOf(node, file) : null;
      if (sql !== null && STATEMENT.test(sql)) found.add(sql);
    }
  }
  return [...found].filter((sql) => ![...found].some((other) => other !== sql && other.includes(sql)));
}

/** The statements that a database refuses, each with its reason. */
async function refusedBy(prepare: (sql: string, n: number) => unknown): Promise<string[]> {
  const refused: string[] = [];
  for (const [n, sql] of allStatements().entries()) {
    try {
      await prepare(sql, n);
    } catch (cause) {
      refused.push(`${cause instanceof Error ? (cause.cause ?? cause) : cause}: ${sql}`);
    }
  }
  return refused;
}

describe('every statement in Common SQL', () => {
  it('can be prepared on an SQLite file', async () => {
    const path = tempPath();
    const limits = { ttlMs: 1, maxBytes: 1, maxEvents: 1 };
    const store = openSqliteStore({ path, clock, parts: edition.tables, ...limits });
    await store.ready();
    await store.close();
    const db = new (sqliteDriver())(path);
    expect(await refusedBy((sql) => db.prepare(sqliteStatement(sql)))).toEqual([]);
    db.close();
    expect(allStatements().length).toBeGreaterThan(200);
  });

  it.skipIf(!hasPostgres)('can be prepared on PostgreSQL', async () => {
    const database = new Database({ url: await newDatabase(), clock, log: undefined, readonly: false });
    afterwards(() => database.close());
    await database.retry();
    const prepare = (sql: string, n: number) => database.query(`PREPARE s${n} AS ${postgresStatement(sql)}`);
    expect(await refusedBy(prepare)).toEqual([]);
  });
});
