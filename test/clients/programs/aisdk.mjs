import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import * as ai from 'ai';
import { descriptions, finish, schemas, settings, tools } from './tools.mjs';

const { generateText, jsonSchema, stepCountIs, streamText, tool } = ai;
const { baseURL, apiKey, mode, rpcUrl } = settings;
const model = mode.startsWith('responses')
  ? createOpenAI({ baseURL, apiKey }).responses('scripted')
  : mode.startsWith('messages')
    ? createAnthropic({ baseURL, apiKey })('scripted')
    : createOpenAICompatible({ name: 'scripted', baseURL, apiKey })('scripted');

/** The client of MCP servers left the main package with its sixth version. */
async function mcpClient() {
  const { experimental_createMCPClient: create } =
    'experimental_createMCPClient' in ai ? ai : await import('@ai-sdk/mcp');
  return create({ transport: { type: 'http', url: rpcUrl } });
}

const client = mode.endsWith('mcp') && rpcUrl !== '' ? await mcpClient() : null;
const own = Object.keys(tools).map((name) => [
  name,
  tool({
    description: descriptions[name],
    inputSchema: jsonSchema(schemas[name]),
    execute: async (args) => tools[name](args),
  }),
]);
const request = {
  model,
  prompt: settings.task,
  tools: { ...Object.fromEntries(own), ...(client === null ? {} : await client.tools()) },
  stopWhen: stepCountIs(10),
  // otherwise its fifth version sends references to calls in place of the calls
  ...(mode === 'responses-mcp' && { providerOptions: { openai: { store: false } } }),
  maxRetries: 0,
};

if (mode.endsWith('stream')) {
  const result = streamText(request);
  await result.consumeStream();
  finish(await result.text);
} else {
  finish((await generateText(request)).text);
}
await client?.close();
