import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';

export const INTROSPECTION_FLAG = '--enable-mcp-introspection';

export interface Transports {
  readonly stdio: { readonly enabled: boolean };
  readonly http: {
    readonly enabled: boolean;
    readonly host: string | null;
    readonly port: number | null;
    readonly path: string | null;
    readonly enableJson: boolean;
    readonly stateless: boolean;
  };
}

export function mcpInfoTool(info: () => object): Tool {
  return defineTool({
    name: 'mcp_info',
    namespace: 'mcp',
    summary: 'Describe this server and its enabled features.',
    description:
      'Describe this server: version, transports, enabled features, timings, safety and limits. Returns JSON.',
    flag: INTROSPECTION_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({}),
    run: info,
  });
}
