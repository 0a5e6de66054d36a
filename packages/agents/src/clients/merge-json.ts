import type { JsonEntry, JsonValue } from './client.ts';

type JsonObject = { [key: string]: JsonValue };

/** A copy of `value` with the entries added. Non-objects on a path are replaced by objects. */
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

export function valueAt(value: JsonValue, path: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of path) at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  return at;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, otherwise an empty one. */
export function asObject(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}
