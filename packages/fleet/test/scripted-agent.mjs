// A small agent: reads its orders as JSON from stdin and speaks to its base URL, as real ones do.
import { createInterface } from 'node:readline';

const { OPENAI_BASE_URL: base, MCP_PRUNER_RPC_URL: rpc } = process.env;

async function model(content, path = '/chat/completions') {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer test' },
    body: JSON.stringify({ model: 'scripted', messages: [{ role: 'user', content }] }),
  });
  return { status: response.status, body: await response.json() };
}

async function tool(name, args) {
  const response = await fetch(rpc, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  return response.json();
}

const say = (text) => process.stdout.write(`${text}\n`);

const lines = [];
for await (const line of createInterface({ input: process.stdin })) lines.push(line);
for (const order of JSON.parse(lines.join('\n') || '[]')) {
  const [what, ...args] = order;
  if (what === 'say') say(args[0]);
  else if (what === 'env') say(JSON.stringify(process.env));
  else if (what === 'ask') say(JSON.stringify(await model(...args)));
  else if (what === 'tool') say(JSON.stringify(await tool(args[0], args[1])));
  else if (what === 'wait') await new Promise((resolve) => setTimeout(resolve, args[0]));
  else if (what === 'stay') setInterval(() => {}, 1000);
  else if (what === 'exit') process.exit(args[0]);
}
