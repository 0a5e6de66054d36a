import { Agent, MCPServerStreamableHttp, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { descriptions, finish, schemas, settings, tools } from './tools.mjs';

setTracingDisabled(true);
const declared = Object.keys(tools).map((name) =>
  tool({
    name,
    description: descriptions[name],
    parameters: schemas[name],
    execute: async (args) => tools[name](args),
  }),
);
const withMcp = settings.mode.endsWith('mcp') && settings.rpcUrl !== '';
const servers = withMcp ? [new MCPServerStreamableHttp({ url: settings.rpcUrl, name: 'pruner' })] : [];
for (const server of servers) await server.connect();
const agent = new Agent({
  name: 'engineer',
  instructions: 'Be careful.',
  model: 'scripted',
  tools: declared,
  mcpServers: servers,
});
const modelProvider = new OpenAIProvider({
  apiKey: settings.apiKey,
  baseURL: settings.baseURL,
  useResponses: settings.mode.startsWith('responses'),
});
const runner = new Runner({ modelProvider, tracingDisabled: true });
if (settings.mode.endsWith('stream')) {
  const result = await runner.run(agent, settings.task, { stream: true });
  await result.completed;
  finish(result.finalOutput);
} else {
  finish((await runner.run(agent, settings.task)).finalOutput);
}
for (const server of servers) await server.close();
