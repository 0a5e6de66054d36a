const MAX_DEPTH = 12;
const MAX_CALLS = 256;
/** Types of items in which the model calls a tool that the client runs. */
const CALL_TYPES = new Set(['tool_use', 'function_call', 'custom_tool_call']);
/** Objects that contain the name of a called tool. */
const CALL_FIELDS = ['functionCall', 'function_call', 'function', 'toolUse'];
/** Fields that contain no calls: their arguments, and the tools that a response repeats. */
const SKIPPED_FIELDS = new Set(['input', 'arguments', 'args', 'tools']);

type Fields = Readonly<Record<string, unknown>>;

/** Counts the tools that an answer calls, by their declared names. A call that several events repeat counts once. */
export class AnswerCalls {
  readonly #calls = new Map<string, Set<string>>();
  #size = 0;

  /** Adds the calls in an event, or in a whole answer. */
  add(value: unknown): void {
    this.#collect(value, 0);
  }

  counts(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#calls, ([name, ids]) => [name, ids.size]));
  }

  #collect(value: unknown, depth: number): void {
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return;
    const fields = value as Fields;
    if (CALL_TYPES.has(fields.type as string)) this.#take(fields, fields);
    for (const name of CALL_FIELDS) {
      const called = fields[name];
      if (typeof called === 'object' && called !== null) this.#take(called as Fields, fields);
    }
    for (const name in fields) if (!SKIPPED_FIELDS.has(name)) this.#collect(fields[name], depth + 1);
  }

  #take(named: Fields, call: Fields): void {
    const { name, namespace } = named;
    if (typeof name !== 'string' || name === '') return;
    const full = typeof namespace === 'string' && namespace !== '' ? `${namespace}__${name}` : name;
    const ids = this.#calls.get(full) ?? new Set();
    const id = String(call.call_id ?? call.id ?? named.id ?? named.toolUseId ?? `#${ids.size}`);
    if (ids.has(id) || this.#size >= MAX_CALLS) return;
    this.#size++;
    this.#calls.set(full, ids.add(id));
  }
}
