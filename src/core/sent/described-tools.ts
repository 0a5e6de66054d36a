import type { Dialect } from '../../wires/dialects/dialect.ts';
import { JsonCursor, type Span } from '../../wires/json/cursor.ts';

/** A description of a tool, or within its parameter schema. */
export interface Description {
  /** Name of the tool as in calls: `namespace__tool` for a nested tool on the responses wire. */
  readonly tool: string;
  /** Span of the JSON string, quotes included. */
  readonly literal: Span;
  readonly text: string;
  /** Whether the description belongs to the tool itself. */
  readonly ofTool: boolean;
}

const MAX_DEPTH = 64;
const SCHEMA = new Set(['input_schema', 'parameters', 'parametersJsonSchema', 'parameters_json_schema']);
const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const SUBSCHEMAS = new Set([
  ...['items', 'prefixItems', 'additionalItems', 'additionalProperties', 'contains', 'propertyNames', 'contentSchema'],
  ...['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'unevaluatedItems', 'unevaluatedProperties'],
]);
const MESSAGES = new Set(['messages', 'input', 'contents']);
const TOOLS_KEY = /"tools"\s*:\s*$/;
const FUNCTION_LISTS = new Set(['functionDeclarations', 'function_declarations']);

/**
 * The descriptions of the tools declared in a request, in body order.
 *
 * @param outside - the fields outside the messages; the messages are only read if they can declare tools
 * @throws JsonShapeError if the bytes are not one JSON object
 */
export function describedTools(body: Buffer, wire: Dialect['name'], outside: readonly Span[]): readonly Description[] {
  const reader = new ToolReader(new JsonCursor(body), wire);
  if (wire === 'responses' && body.includes('"additional_tools"')) return reader.read();
  const isTools = ({ start }: Span): boolean => TOOLS_KEY.test(body.toString('latin1', Math.max(0, start - 12), start));
  return reader.at(outside.filter(isTools));
}

/** Facts found about one tool so far. */
interface FoundTool {
  name: string;
  type: string;
  readonly descriptions: Omit<Description, 'tool'>[];
  /** Offset of the list of nested tools, or -1. */
  nested: number;
}

class ToolReader {
  readonly #cursor: JsonCursor;
  readonly #wire: Dialect['name'];
  readonly #descriptions: Description[] = [];

  constructor(cursor: JsonCursor, wire: Dialect['name']) {
    this.#cursor = cursor;
    this.#wire = wire;
  }

  read(): readonly Description[] {
    const cursor = this.#cursor;
    cursor.object((key) => {
      if (key === 'tools') this.#tools('');
      else if (MESSAGES.has(key) && cursor.atArray()) cursor.array(() => this.#message());
    });
    return this.#descriptions;
  }

  at(lists: readonly Span[]): readonly Description[] {
    for (const { start } of lists) {
      this.#cursor.at = start;
      this.#tools('');
    }
    return this.#descriptions;
  }

  /** Reads tools added by an item on the responses wire. */
  #message(): void {
    const cursor = this.#cursor;
    if (!cursor.atObject()) return;
    let type = '';
    let tools = -1;
    const span = cursor.object((key) => {
      if (key === 'type' && cursor.atString()) type = this.#text();
      else if (key === 'tools') tools = cursor.at;
    });
    if (type !== 'additional_tools' || tools < 0) return;
    cursor.at = tools;
    this.#tools('');
    cursor.at = span.end;
  }

  #text(): string {
    return this.#cursor.text(this.#cursor.string()) ?? '';
  }

  #tools(namespace: string): void {
    const cursor = this.#cursor;
    if (cursor.atArray()) cursor.array(() => this.#tool(namespace));
  }

  #tool(namespace: string): void {
    const cursor = this.#cursor;
    if (!cursor.atObject()) return;
    const found: FoundTool = { name: '', type: '', nested: -1, descriptions: [] };
    const span = cursor.object((key) => {
      if (this.#wire === 'gemini' && FUNCTION_LISTS.has(key)) this.#tools('');
      else if (key === 'function' && this.#wire === 'chat' && cursor.atObject())
        cursor.object((inner) => this.#field(found, inner));
      else if (key === 'type') found.type = cursor.atString() ? this.#text() : '?';
      else if (key === 'tools') found.nested = cursor.at;
      else this.#field(found, key);
    });
    if (found.type === 'namespace' && found.nested >= 0) {
      cursor.at = found.nested;
      this.#tools(found.name);
      cursor.at = span.end;
      return;
    }
    const tool = namespace === '' ? found.name : `${namespace}__${found.name}`;
    this.#descriptions.push(...found.descriptions.map((one) => ({ tool, ...one })));
  }

  #field(found: FoundTool, key: string): void {
    if (key === 'name') found.name = this.#cursor.atString() ? this.#text() : '';
    else if (key === 'description') this.#description(found, true);
    else if (SCHEMA.has(key)) this.#schema(found, 0);
  }

  #description(found: FoundTool, ofTool: boolean): void {
    const cursor = this.#cursor;
    if (!cursor.atString()) return;
    const literal = cursor.string();
    const text = cursor.text(literal);
    if (text !== null) found.descriptions.push({ literal, text, ofTool });
  }

  #schema(found: FoundTool, depth: number): void {
    const cursor = this.#cursor;
    if (depth > MAX_DEPTH) return;
    if (cursor.atArray()) cursor.array(() => this.#schema(found, depth + 1));
    else if (cursor.atObject())
      cursor.object((key) => {
        if (key === 'description') this.#description(found, false);
        else if (SUBSCHEMAS.has(key)) this.#schema(found, depth + 1);
        else if (SCHEMA_MAPS.has(key) && cursor.atObject()) cursor.object(() => this.#schema(found, depth + 1));
      });
  }
}
