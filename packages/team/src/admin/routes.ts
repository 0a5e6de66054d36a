import { z } from 'zod';

interface AdminRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly body: unknown;
}

/**
 * Answer of an operation: a status with a body, or a refusal (`conflict` is sent as `invalid_request` with status 409).
 */
export type AdminAnswer =
  | { readonly status: number; readonly body: unknown }
  | { readonly refused: 'not_found' | 'conflict'; readonly message: string };

/** An operation, whose schemas validate requests and describe them in the OpenAPI document. */
export interface AdminRoute {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** Path below `/admin/v1`, with parameters such as `{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly status: number;
  readonly answer: z.ZodType;
  readonly handle: (request: AdminRequest) => Promise<AdminAnswer>;
}

/** The OpenAPI document of the routes. */
export function openApi(routes: readonly AdminRoute[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = `/admin/v1${route.path}`;
    paths[path] = { ...paths[path], [route.method]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'mcp-pruner admin API', version },
    security: [{ token: [] }],
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    paths,
  };
}

function operationOf({ path, summary, query, body, status, answer }: AdminRoute): object {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true },
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    ...{ name, in: 'query', required: false },
    schema: jsonSchema(schema as z.ZodType, 'input'),
  }));
  const content = (schema: z.ZodType, io: 'input' | 'output') => ({
    'application/json': { schema: jsonSchema(schema, io) },
  });
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    ...(body && { requestBody: { required: true, content: content(body, 'input') } }),
    responses: {
      [status]: { description: 'done', content: content(answer, 'output') },
      '422': { description: 'a field is missing or wrong; the message names it' },
      '401': { description: 'the token is missing or wrong' },
      ...(inPath.length > 0 && { '404': { description: 'unknown, or revoked' } }),
    },
  };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return plain;
}
