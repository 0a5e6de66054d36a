import type { JsonEntry, JsonValue } from './client.ts';

type JsonObject = { [key: string]: JsonValue };

/** A copy of `value` with the entries in it. What is no object, where one is needed, is replaced. */
export function mergeJson(value: JsonValue, entries: readonly JsonEntry[]): JsonValue {
  const root = asObject(structuredClone(value));
  for (const { path, value: wanted, ifAbsent = false } of entries) {
    const [last = '', ...above] = path.toReversed();
    let parent = root;
    for (const key of above.reverse()) {
      const child = asObject(Object.hasOwn(parent, key) ? parent[key] : undefined);
      parent[key] = child;
      parent = child;
    }
    if (!ifAbsent || !Object.hasOwn(parent, last)) parent[last] = wanted;
  }
  return root;
}

/**
 * A copy of `value` in which every place that an entry names is as it was in `before`; objects that the entries made,
 * and that hold nothing else by now, go.
 */
export function restoreJson(value: JsonValue, before: JsonValue, entries: readonly JsonEntry[]): JsonValue {
  const root = asObject(structuredClone(value));
  for (const { path } of entries) restoreAt(root, asObject(before), path);
  return root;
}

function restoreAt(now: JsonObject, before: JsonObject, [key = '', ...rest]: readonly string[]): void {
  const existed = Object.hasOwn(before, key);
  const child = now[key];
  if (rest.length > 0 && isObject(child) && (!existed || isObject(before[key]))) {
    restoreAt(child, asObject(before[key]), rest);
    if (!existed && Object.keys(child).length === 0) delete now[key];
    return;
  }
  if (existed && before[key] !== undefined) now[key] = before[key];
  else delete now[key];
}

/** The value at a path, or `undefined`. */
export function valueAt(value: JsonValue, path: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of path) at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  return at;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
