import { Agent } from '../gc/agent.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';
import type { Stage } from './stage.ts';

/** What tools may answer to do harm: markup, a line of a megabyte, text that turns its direction, control characters. */
export const HOSTILE = [
  '<script>window.hit = 1; document.title = "hit"</script>',
  '<img src=x onerror="window.hit = 2">',
  '</code></div><iframe src="javascript:parent.hit=3"></iframe>',
  '"><svg onload=window.hit=4>',
  '&lt;b&gt; {{7*7}} javascript:window.hit=5',
  'مرحبا بالعالم \u202eevil\u202c \u2066isolate\u2069 שלום',
  '\u0000\u0007\u001b[31mred\u001b[0m \u2028 \u2029 lone \ud83d',
  `a line of a megabyte ${'x'.repeat(1_000_000)}`,
].join('\n');

/** An agent that looks for a failing payment: a file, a log with the failure, a hostile answer, and some turns after. */
export async function work(stage: Stage, headers: Record<string, string> = {}): Promise<Agent> {
  const agent = new Agent(stage, stage.upstream, headers);
  agent.tool('read_file', { path: 'src/orders.ts' }, sourceFile(40), 'I look at the orders first.');
  await agent.send();
  agent.tool('bash', { command: 'npm start' }, serverLog(600), 'Now the log of the server.');
  await agent.send();
  agent.tool('web_fetch', { url: 'https://evil.example' }, `${serverLog(200, 7)}${HOSTILE}\n${serverLog(200, 8)}`);
  await agent.send();
  agent.say('user', 'And now repair it.');
  agent.chatter(2);
  await agent.send();
  return agent;
}
