// A small agent, as a child of the fleet: it reads the diff of a pull request, asks the model about it through the proxy, and
// writes its finding to the blackboard. Its orders come as JSON on stdin.
import { readFileSync } from 'node:fs';

const { OPENAI_BASE_URL: base, MCP_PRUNER_RPC_URL: rpc, MCP_PRUNER_CHILD_ID: me } = process.env;
const { file, node, question, questions = 1 } = JSON.parse(readFileSync(0, 'utf8'));

async function ask(text) {
  const response = await fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer demo' },
    body: JSON.stringify({
      model: 'demo',
      messages: [
        { role: 'user', content: question },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"git diff main"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: text },
      ],
    }),
  });
  const body = await response.json();
  if (!response.ok) {
    process.stdout.write(`refused: ${body.error.code}; this agent does not know what to do now\n`);
    await new Promise(() => setInterval(() => {}, 1000)); // as many a real one: it has to be stopped
  }
  return body.choices[0].message.content;
}

async function tool(name, args) {
  const response = await fetch(rpc, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(`${name}: ${error.message}`);
  return JSON.parse(result.content[0].text);
}

const diff = readFileSync(file, 'utf8');
process.stdout.write(`read the diff, ${diff.length} characters\n`);
let finding = '';
for (let i = 0; i < questions; i++) finding = await ask(diff);
await tool('bb_set', { key: `finding:${node}`, value: { by: me, finding }, tags: ['review'] });
await tool('graph_batch_mutate', {
  graph_id: 'review',
  operations: [{ op: 'set_node_attribute', id: node, key: 'state', value: 'done' }],
});
await tool('stig_mark', { node_id: node, type: 'done', intensity: 1 });
process.stdout.write(`${finding}\n`);
