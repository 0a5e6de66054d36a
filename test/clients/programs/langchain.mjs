import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { ChatOpenAI } from '@langchain/openai';
import { descriptions, finish, schemas, settings, tools } from './tools.mjs';

const declared = Object.keys(tools).map((name) =>
  tool(async (args) => tools[name](args), { name, description: descriptions[name], schema: schemas[name] }),
);
const model = new ChatOpenAI({
  model: 'scripted',
  apiKey: settings.apiKey,
  maxRetries: 0,
  configuration: { baseURL: settings.baseURL },
}).bindTools(declared);

const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode(declared))
  .addEdge('__start__', 'model')
  .addConditionalEdges('model', ({ messages }) => (messages.at(-1).tool_calls?.length > 0 ? 'tools' : '__end__'))
  .addEdge('tools', 'model')
  .compile();

const input = { messages: [{ role: 'user', content: settings.task }] };
let last;
if (settings.mode === 'stream') {
  // Streaming goes through the graph: `streaming: true` with `invoke()` fetches token tables from the web at the end.
  let text = '';
  for await (const [chunk, { langgraph_node: node }] of await graph.stream(input, { streamMode: 'messages' })) {
    if (node !== 'model') text = '';
    else if (typeof chunk.content === 'string') text += chunk.content;
  }
  last = text;
} else {
  last = (await graph.invoke(input)).messages.at(-1).content;
}
finish(last);
