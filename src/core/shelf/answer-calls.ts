const MAX_DEPTH = 12;
/** Types of items in which the model calls a tool that the client runs. */
const CALL_TYPES = new Set(['tool_use', 'function_call', 'custom_tool_call']);
/** Fields that contain no calls: their arguments, and the tools that a response repeats. */
const CLOSED = new Set(['input', 'arguments', 'args', 'tools', 'delta_text']);
const HINT = /tool_use|tool_calls|function_call|functionCall|custom_tool_call/;

/**
 * How often an answer calls each tool, by its declared name. Reads streams of events and whole JSON; an answer that is
 * neither, or was not kept to its end, has none.
 */
export function callsInAnswer(answer: string): ReadonlyMap<string, number> {
  const calls = new Map<string, Set<string>>();
  if (!HINT.test(answer)) return new Map();
  const whole = parsed(answer);
  if (whole !== undefined) collect(whole, calls, 0);
  else
    for (const line of answer.split('\n')) {
      if (!line.startsWith('data:') || !HINT.test(line)) continue;
      collect(parsed(line.slice('data:'.length)), calls, 0);
    }
  return new Map(Array.from(calls, ([name, ids]) => [name, ids.size]));
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

function collect(value: unknown, calls: Map<string, Set<string>>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
  if (Array.isArray(value)) {
    for (const inner of value) collect(inner, calls, depth + 1);
    return;
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  if (CALL_TYPES.has(String(fields.get('type')))) take(fields, fields, calls);
  const inner = fields.get('functionCall') ?? fields.get('function_call') ?? fields.get('function');
  if (typeof inner === 'object' && inner !== null) take(new Map(Object.entries(inner)), fields, calls);
  for (const [key, held] of fields) if (!CLOSED.has(key)) collect(held, calls, depth + 1);
}

/** Counts a call once, however many events repeat it. */
function take(
  named: ReadonlyMap<string, unknown>,
  call: ReadonlyMap<string, unknown>,
  calls: Map<string, Set<string>>,
): void {
  const name = named.get('name');
  if (typeof name !== 'string' || name === '') return;
  const namespace = named.get('namespace');
  const full = typeof namespace === 'string' && namespace !== '' ? `${namespace}__${name}` : name;
  const ids = calls.get(full) ?? new Set();
  ids.add(String(call.get('call_id') ?? call.get('id') ?? named.get('id') ?? `#${ids.size}`));
  calls.set(full, ids);
}
