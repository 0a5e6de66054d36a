import type { Dialect } from '../../wires/dialects/dialect.ts';
import { JsonCursor, type Span } from '../../wires/json/cursor.ts';
import { keyOf } from '../hash.ts';

/** A description of a tool, or within its parameter schema. */
export interface Description {
  /** Span of the JSON string, quotes included. */
  readonly literal: Span;
  readonly text: string;
  /** Whether the description belongs to the tool itself. */
  readonly ofTool: boolean;
}

/** A tool declared in a request. */
export interface Declaration {
  /** Name used in calls: `namespace__tool` for a nested tool on the responses wire. */
  readonly name: string;
  readonly span: Span;
  /**
   * `deferred`: the provider loads it when the model searches for it. `never`: its descriptions must not be shortened.
   */
  readonly kind: 'plain' | 'deferred' | 'never';
  readonly descriptions: readonly Description[];
}

/** The tools of a request. */
export interface DeclaredTools {
  readonly declarations: readonly Declaration[];
  /** Tools forced by `tool_choice` or `allowedFunctionNames`. */
  readonly chosen: ReadonlySet<string>;
  /** System prompt: instructions outside the messages, plus system and developer messages. */
  readonly instructions: string;
}

const MAX_DEPTH = 64;
/** This product's own tools, which must not be shortened. */
const RECOVERY_TOOLS = /^(?:.*__)?(?:recover_text|recover_range|recall)$/s;
const SCHEMA = new Set(['input_schema', 'parameters', 'parametersJsonSchema', 'parameters_json_schema']);
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const SUBSCHEMAS = new Set([
  ...['items', 'prefixItems', 'additionalItems', 'additionalProperties', 'contains', 'propertyNames', 'contentSchema'],
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'unevaluatedItems', 'unevaluatedProperties'],
]);
const INSTRUCTIONS = new Set(['system', 'instructions', 'systemInstruction', 'system_instruction']);
const CONFIG = new Set(['toolConfig', 'tool_config']);
const MESSAGES = new Set(['messages', 'input', 'contents']);
const TOOLS_KEY = /"tools"\s*:\s*$/;
const FUNCTION_LISTS = new Set(['functionDeclarations', 'function_declarations']);

/**
 * Finds the tools declared in a request, with the positions of their descriptions.
 *
 * @throws JsonShapeError if the bytes are not one JSON object
 */
export function declaredTools(body: Buffer, wire: Dialect['name']): DeclaredTools {
  return new ToolReader(new JsonCursor(body), wire).read();
}

/**
 * Like `declaredTools`, but skips the messages if they cannot contain tools.
 *
 * @param outside - the fields outside the messages, see `RequestHead`
 * @throws JsonShapeError if the bytes are not one JSON object
 */
export function declarationsOf(body: Buffer, wire: Dialect['name'], outside: readonly Span[]): readonly Declaration[] {
  const amongMessages = wire === 'responses' && body.includes('"additional_tools"');
  if (amongMessages) return declaredTools(body, wire).declarations;
  const isTools = ({ start }: Span): boolean => TOOLS_KEY.test(body.toString('latin1', Math.max(0, start - 12), start));
  return new ToolReader(new JsonCursor(body), wire).at(outside.filter(isTools));
}

/** Hash of a declaration, independent of the client and of cache breakpoints. */
export function declarationHash(body: Buffer, { name, span }: Pick<Declaration, 'name' | 'span'>): string {
  const value: unknown = JSON.parse(body.toString('utf8', span.start, span.end));
  return keyOf('declaration', name, JSON.stringify(value, sortedWithoutCache));
}

function sortedWithoutCache(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'cache_control');
  return Object.fromEntries(kept.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Facts found about one tool so far. */
interface Found {
  name: string;
  type: string;
  deferred: boolean;
  hasFormat: boolean;
  /** A relevant key occurs twice; parsers disagree about which value counts. */
  ambiguous: boolean;
  readonly descriptions: Description[];
  /** Offset of the list of nested tools, or -1. */
  nested: number;
}

class ToolReader {
  readonly #cursor: JsonCursor;
  readonly #wire: Dialect['name'];
  readonly #declarations: Declaration[] = [];
  readonly #chosen = new Set<string>();
  readonly #instructions: string[] = [];

  constructor(cursor: JsonCursor, wire: Dialect['name']) {
    this.#cursor = cursor;
    this.#wire = wire;
  }

  read(): DeclaredTools {
    const cursor = this.#cursor;
    cursor.object((key) => {
      if (key === 'tools') this.#tools('', false);
      else if (key === 'tool_choice') namesIn(this.#value(), this.#chosen);
      else if (CONFIG.has(key)) namesIn(this.#value(), this.#chosen);
      else if (INSTRUCTIONS.has(key)) textsIn(this.#value(), this.#instructions);
      else if (MESSAGES.has(key) && cursor.atArray()) cursor.array(() => this.#message());
    });
    return {
      declarations: this.#declarations,
      chosen: this.#chosen,
      instructions: this.#instructions.join('\n'),
    };
  }

  at(lists: readonly Span[]): readonly Declaration[] {
    for (const { start } of lists) {
      this.#cursor.at = start;
      this.#tools('', false);
    }
    return this.#declarations;
  }

  #raw({ start, end }: Span): string {
    return this.#cursor.bytes.toString('utf8', start, end);
  }

  #value(): unknown {
    const value: unknown = JSON.parse(this.#raw(this.#cursor.value()));
    return value;
  }

  /** Reads a system message, or tools added by an item on the responses wire. */
  #message(): void {
    const cursor = this.#cursor;
    if (!cursor.atObject()) return;
    let roleAndType = '';
    let tools = -1;
    const span = cursor.object((key) => {
      if ((key === 'role' || key === 'type') && cursor.atString()) roleAndType += ` ${this.#text()} `;
      else if (key === 'tools') tools = cursor.at;
    });
    if (roleAndType.includes(' system ') || roleAndType.includes(' developer '))
      textsIn(JSON.parse(this.#raw(span)), this.#instructions);
    if (!roleAndType.includes(' additional_tools ') || tools < 0) return;
    cursor.at = tools;
    this.#tools('', false);
    cursor.at = span.end;
  }

  #text(): string {
    return this.#cursor.text(this.#cursor.string()) ?? '';
  }

  #tools(namespace: string, deferred: boolean): void {
    const cursor = this.#cursor;
    if (cursor.atArray()) cursor.array(() => this.#tool(namespace, deferred));
  }

  #tool(namespace: string, deferred: boolean): void {
    const cursor = this.#cursor;
    if (!cursor.atObject()) return;
    const found: Found = {
      ...{ name: '', type: '', deferred, hasFormat: false, ambiguous: false, nested: -1 },
      descriptions: [],
    };
    const isGemini = this.#wire === 'gemini';
    const span = this.#unique(found, (key) => {
      if (isGemini && FUNCTION_LISTS.has(key)) this.#tools('', false);
      else if (key === 'function' && this.#wire === 'chat' && cursor.atObject())
        this.#unique(found, (inner) => this.#field(found, inner));
      else if (key === 'type') found.type = cursor.atString() ? this.#text() : '?';
      else if (key === 'tools') found.nested = cursor.at;
      else this.#field(found, key);
    });
    if (found.type === 'namespace' && found.nested >= 0) {
      cursor.at = found.nested;
      this.#tools(found.name, found.deferred);
      cursor.at = span.end;
    } else this.#declare(found, span, namespace);
  }

  #field(found: Found, key: string): void {
    const cursor = this.#cursor;
    if (key === 'name') found.name = cursor.atString() ? this.#text() : '';
    else if (key === 'defer_loading')
      found.deferred ||= cursor.peek() === 0x74; // 't' of `true`
    else if (key === 'format') found.hasFormat = true;
    else if (key === 'description') this.#description(found, true);
    else if (SCHEMA.has(key)) this.#schema(found, 0);
  }

  #declare(found: Found, span: Span, namespace: string): void {
    const { name, deferred } = found;
    if (name === '') return;
    const called = namespace === '' ? name : `${namespace}__${name}`;
    const isWhole = found.ambiguous || found.hasFormat || !this.#isPlain(found.type) || RECOVERY_TOOLS.test(called);
    const kind = isWhole ? 'never' : deferred ? 'deferred' : 'plain';
    this.#declarations.push({ name: called, span, kind, descriptions: found.descriptions });
  }

  #isPlain(type: string): boolean {
    if (this.#wire === 'messages') return type === '' || type === 'custom';
    if (this.#wire === 'gemini') return true;
    return type === 'function';
  }

  /** Parses the object at the cursor, and records whether a key occurs twice. */
  #unique(found: Found, onField: (key: string) => void): Span {
    const seen = new Set<string>();
    return this.#cursor.object((key) => {
      found.ambiguous ||= seen.has(key);
      seen.add(key);
      onField(key);
    });
  }

  #description(found: Found, ofTool: boolean): void {
    const cursor = this.#cursor;
    if (!cursor.atString()) return;
    const literal = cursor.string();
    const text = cursor.text(literal);
    if (text === null) found.ambiguous = true;
    else found.descriptions.push({ literal, text, ofTool });
  }

  #schema(found: Found, depth: number): void {
    const cursor = this.#cursor;
    if (depth > MAX_DEPTH) return;
    if (cursor.atArray()) cursor.array(() => this.#schema(found, depth + 1));
    else if (cursor.atObject())
      this.#unique(found, (key) => {
        if (key === 'description') this.#description(found, false);
        else if (SUBSCHEMAS.has(key)) this.#schema(found, depth + 1);
        else if (SCHEMA_MAPS.has(key) && cursor.atObject()) this.#unique(found, () => this.#schema(found, depth + 1));
      });
  }
}

/** Collects every string in a value, in order. */
function textsIn(value: unknown, texts: string[]): void {
  if (typeof value === 'string') texts.push(value);
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) textsIn(inner, texts);
}

/** Collects every string in a `tool_choice`. Extra names are harmless: they only keep more tools whole. */
function namesIn(value: unknown, names: Set<string>): void {
  if (typeof value === 'string') names.add(value);
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) namesIn(inner, names);
}
