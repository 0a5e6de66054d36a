import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';

export const INTROSPECTION_FLAG = '--enable-mcp-introspection';

/** How clients reach this server. */
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

/** @param info - what this server is, as `infoOf` says it */
export function mcpInfoTool(info: () => object): Tool {
  return defineTool({
    name: 'mcp_info',
    namespace: 'mcp',
    summary: 'Tell what this server is and what is switched on.',
    description:
      'Tell what this server is: version, transports, features that are switched on, timings, safety and limits. Returns JSON.',
    flag: INTROSPECTION_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({}),
    run: info,
  });
}
