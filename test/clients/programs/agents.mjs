import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
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
const agent = new Agent({ name: 'engineer', instructions: 'Be careful.', model: 'scripted', tools: declared });
const modelProvider = new OpenAIProvider({
  apiKey: settings.apiKey,
  baseURL: settings.baseURL,
  useResponses: false,
});
const runner = new Runner({ modelProvider, tracingDisabled: true });
if (settings.mode === 'stream') {
  const result = await runner.run(agent, settings.task, { stream: true });
  await result.completed;
  finish(result.finalOutput);
} else {
  finish((await runner.run(agent, settings.task)).finalOutput);
}
