import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import { descriptions, finish, schemas, settings, tools } from './tools.mjs';

const provider = createOpenAICompatible({ name: 'scripted', baseURL: settings.baseURL, apiKey: settings.apiKey });
const declared = Object.fromEntries(
  Object.keys(tools).map((name) => [
    name,
    tool({
      description: descriptions[name],
      inputSchema: jsonSchema(schemas[name]),
      execute: async (args) => tools[name](args),
    }),
  ]),
);
const request = {
  model: provider('scripted'),
  prompt: settings.task,
  tools: declared,
  stopWhen: stepCountIs(10),
  maxRetries: 0,
};

if (settings.mode === 'stream') {
  const result = streamText(request);
  await result.consumeStream();
  finish(await result.text);
} else {
  finish((await generateText(request)).text);
}
