import { z } from 'zod';
import { defineTool, type Tool } from '../tool.ts';
import { INTROSPECTION_FLAG } from './mcp-info.ts';

const descriptions: Readonly<Record<string, string>> = {
  local: 'Read files, run commands and search, with output shortened to a question.',
  pruner: 'Shorten texts and return original lines.',
  mcp: 'Describe this server and its features.',
  context_gc: 'Pin, stash and delete parts of a conversation.',
  resources: 'List, read and follow sc:// resources.',
  events: 'Follow the events of all conversations.',
  bulk: 'Run one tool for many entries at once, all or nothing.',
  idempotency: 'Tools that change something take an idempotency_key and replay their answer.',
};

interface CapabilitiesOptions {
  readonly tools: () => readonly Pick<Tool, 'name' | 'namespace' | 'summary'>[];
  readonly further: readonly string[];
  readonly maxEvents: number;
}

export function mcpCapabilitiesTool({ tools, further, maxEvents }: CapabilitiesOptions): Tool {
  return defineTool({
    name: 'mcp_capabilities',
    namespace: 'mcp',
    summary: 'List the families of tools that are on, and each tool in a sentence.',
    description: 'List the namespaces that are on and, for each tool, its namespace and what it is for. Returns JSON.',
    flag: INTROSPECTION_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({}),
    run() {
      const offered = tools();
      const names = new Set([...offered.map(({ namespace }) => namespace), ...further]);
      return {
        namespaces: [...names].map((name) => ({ name, description: descriptions[name] ?? `Tools of ${name}.` })),
        schemas: Object.fromEntries(offered.map(({ name, namespace, summary }) => [name, { namespace, summary }])),
        limits: { maxEventHistory: maxEvents },
      };
    },
  });
}
