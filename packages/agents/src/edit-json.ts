import { isDeepStrictEqual } from 'node:util';
import {
  applyEdits,
  findNodeAtLocation,
  type Edit as JsonTextEdit,
  modify,
  type Node,
  type ParseError,
  parseTree,
} from 'jsonc-parser';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import type { Edit, JsonEntry, JsonValue } from './clients/client.ts';
import { mergeJson } from './clients/merge-json.ts';

type JsonEdit = Extract<Edit, { readonly format: 'json' }>;

/** A JSON file: its text without a byte order mark, and the parsed value. */
interface Document {
  readonly text: string;
  readonly bom: string;
  readonly root: Node;
}

/**
 * Adds entries to a text. Only these places are rewritten; comments, number formats and white space elsewhere stay.
 *
 * @param text - `null` if there is no file yet
 * @throws UserError if the text cannot be edited safely
 */
export function addEntries(text: string | null, edit: JsonEdit): string {
  const before = open(text, edit);
  const wanted = mergeJson(contentOf(before.root), edit.entries);
  let now = before.text;
  for (const entry of edit.entries) now = withEntry(now, entry, edit);
  if (!isDeepStrictEqual(contentOf(treeOf(now, edit)), wanted)) {
    throw new UserError(`${edit.file} has the same key twice: remove one of the two first`);
  }
  return before.bom + (text === null ? `${now}\n` : now);
}

/** Restores every entry to its value in `before`; objects that are then empty are removed. */
export function removeEntries(text: string, before: string | null, edit: JsonEdit): string {
  const { bom, text: start } = open(text, edit);
  const was = open(before, edit);
  let now = start;
  for (const entry of edit.entries) now = withOldValue(now, was, entry, edit);
  return bom + now;
}

/** Parses JSON with comments; `null` if it is not an object. */
export function readLooseJson(text: string | null): JsonValue | null {
  const errors: ParseError[] = [];
  const root = parseTree((text ?? '').replace(/^\ufeff/, ''), errors, { allowTrailingComma: true });
  return errors.length > 0 || root?.type !== 'object' ? null : contentOf(root);
}

function open(text: string | null, edit: JsonEdit): Document {
  const bom = text?.startsWith('\ufeff') ? '\ufeff' : '';
  const own = (text ?? '').slice(bom.length);
  const filled = own.trim() === '' ? '{}' : own;
  return { bom, text: filled, root: treeOf(filled, edit) };
}

function treeOf(text: string, { file, comments = false }: JsonEdit): Node {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: comments, disallowComments: !comments });
  const kind = comments ? 'JSON (comments are allowed)' : 'plain JSON (comments?)';
  if (root === undefined || errors.length > 0) throw new UserError(`${file} is not ${kind}: add the lines by hand`);
  if (root.type !== 'object') throw new UserError(`${file} holds no JSON object: add the lines by hand`);
  return root;
}

function withEntry(text: string, { path, value, ifAbsent = false }: JsonEntry, edit: JsonEdit): string {
  const root = treeOf(text, edit);
  const there = findNodeAtLocation(root, [...path]);
  if (there !== undefined && (ifAbsent || isDeepStrictEqual(contentOf(there), value))) return text;
  // a non-object on the path is replaced by an object
  const blocked = path.findIndex((_, i) => {
    const above = i === 0 ? undefined : findNodeAtLocation(root, path.slice(0, i));
    return above !== undefined && above.type !== 'object';
  });
  if (blocked < 0) return changed(text, path, value);
  const inner = path.slice(blocked).reduceRight<JsonValue>((below, key) => ({ [key]: below }), value);
  return changed(text, path.slice(0, blocked), inner);
}

function withOldValue(text: string, was: Document, { path, isOwn }: JsonEntry, edit: JsonEdit): string {
  const root = treeOf(text, edit);
  const list = isOwn === undefined ? undefined : findNodeAtLocation(root, [...path])?.children;
  const own = isOwn === undefined ? [] : (list ?? []).map(contentOf).map(isOwn);
  if (own.includes(false)) {
    return own.reduceRight((now, drop, i) => (drop ? changed(now, [...path, i], undefined) : now), text);
  }
  for (let depth = 1; depth <= path.length; depth++) {
    const at = path.slice(0, depth);
    const now = findNodeAtLocation(root, at);
    if (now === undefined) return text;
    const old = findNodeAtLocation(was.root, at);
    if (depth < path.length && now.type === 'object' && (old === undefined || old.type === 'object')) continue;
    if (old === undefined) return withoutEmpty(changed(text, at, undefined), was, at, edit);
    const content = was.text.slice(old.offset, old.offset + old.length);
    return applyEdits(text, [{ offset: now.offset, length: now.length, content }]);
  }
  return text;
}

/** Removes parent objects that were created for an entry and are empty now. */
function withoutEmpty(text: string, was: Document, path: readonly string[], edit: JsonEdit): string {
  const above = path.slice(0, -1);
  const node = above.length === 0 ? undefined : findNodeAtLocation(treeOf(text, edit), above);
  if (node === undefined || (node.children ?? []).length > 0) return text;
  if (findNodeAtLocation(was.root, above) !== undefined) return text;
  return withoutEmpty(changed(text, above, undefined), was, above, edit);
}

/** Changes a value, keeping indentation, line ends and everything around it. */
function changed(text: string, path: readonly (string | number)[], value: JsonValue | undefined): string {
  const edits = modify(text, [...path], value, {}).map((edit) =>
    edit.content === '' ? edit : { ...edit, content: laidOut(text, path, edit) },
  );
  return applyEdits(text, edits);
}

/** Inserted text of an edit, formatted like the rest of the file. */
function laidOut(text: string, path: readonly (string | number)[], { content, length }: JsonTextEdit): string {
  const [, indent = '  '] = /^\s*\{\r?\n([ \t]+)"/.exec(text) ?? [];
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const root = parseTree(text, [], { allowTrailingComma: true });
  const isThere = (depth: number): boolean =>
    root !== undefined && findNodeAtLocation(root, path.slice(0, depth)) !== undefined;
  const depth = 1 + path.findLastIndex((_, i) => isThere(i));
  const pad = eol + indent.repeat(depth);
  const spread = (json: string): string => JSON.stringify(JSON.parse(json), null, indent).replaceAll('\n', pad);
  if (length > 0) return spread(content);
  const parent = root === undefined ? undefined : findNodeAtLocation(root, path.slice(0, depth - 1));
  const alone = (parent?.children ?? []).length === 0;
  if (!text.includes('\n') && !alone) return content;
  const property = content.replace(/^,|,$/g, '');
  const lines = JSON.stringify(JSON.parse(`{${property}}`), null, indent)
    .split('\n')
    .slice(1, -1);
  const outer = eol + indent.repeat(depth - 1);
  const [before, after] = [content.startsWith(',') ? ',' : '', content.endsWith(',') ? ',' : ''];
  return `${before}${lines.map((line) => outer + line).join('')}${after}${alone ? outer : ''}`;
}

/** Value of a node; `__proto__` is an ordinary key. */
function contentOf(node: Node): JsonValue {
  const { type, children = [] } = node;
  if (type === 'array') return children.map(contentOf);
  if (type !== 'object') return node.value as JsonValue;
  const object: Record<string, JsonValue> = {};
  for (const { children: [key, value] = [] } of children) {
    if (key === undefined || value === undefined) continue;
    Object.defineProperty(object, String(key.value), {
      value: contentOf(value),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}
