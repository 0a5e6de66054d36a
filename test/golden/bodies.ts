import { join } from 'node:path';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, type Message, oneResult, toolTurn } from '../helpers/chat.ts';
import { agentConversation, withMovingMark } from '../helpers/conversation.ts';
import { openRewriter, openStore, type RewriterParts } from '../helpers/rewriter.ts';
import { digest, type GoldenResult } from './digest.ts';
import { type GoldenText, goldenTexts } from './texts.ts';

export interface GoldenConversation {
  readonly name: string;
  /** Bodies one after another, as a client sends them. */
  readonly bodies: readonly Buffer[];
  readonly parts?: Omit<RewriterParts, 'store' | 'clock'>;
}

const TOOLS: readonly (readonly [tool: string, argument: string])[] = [
  ['read_file', 'path'],
  ['bash', 'command'],
  ['grep', 'pattern'],
  ['list_dir', 'path'],
  ['view', 'file_path'],
];

interface ReadText extends Pick<GoldenText, 'goal' | 'text'> {
  readonly hints: { readonly path?: string | undefined; readonly command?: string | undefined };
}

/** A conversation in which an agent reads one text after another, each of its turns a request. */
export function reading(texts: readonly ReadText[]): Buffer[] {
  const messages: Message[] = [{ role: 'system', content: 'You are a careful engineer.' }];
  return texts.map(({ goal, text, hints }, k) => {
    const [tool, argument] = TOOLS[k % TOOLS.length] ?? ['bash', 'command'];
    if (k % 3 === 0) messages.push({ role: 'user', content: `${goal}\n\nLook at it closely.` });
    messages.push(
      ...toolTurn(
        `call_${k}`,
        tool,
        { [argument]: hints.path ?? hints.command ?? '.' },
        text,
        k % 2 === 0 ? goal : null,
      ),
    );
    return chatBody(messages, { stream: k % 2 === 0 });
  });
}

/** Conversations about all texts. `parts`: settings of the rewriter that differ. */
export function goldenConversations(): GoldenConversation[] {
  const { messages, ends } = agentConversation(24);
  const turns = ends.map((end) => messages.slice(0, end));
  const made = goldenTexts().filter(({ name }) => name.startsWith('made'));
  const fence = made.find(({ name }) => name === 'made markdown')?.text ?? '';
  const [system, user, ...rest] = oneResult(made[0]?.text ?? '');
  return [
    { name: 'an agent of 24 turns', bodies: turns.map((turn) => chatBody(turn)) },
    { name: 'its last turn alone', bodies: [chatBody(turns.at(-1) ?? [])] },
    { name: 'a mark that moves along', bodies: turns.slice(0, 9).map((turn) => chatBody(withMovingMark(turn))) },
    {
      name: 'numbers in front of lines',
      bodies: turns.slice(5, 7).map((turn) => chatBody(turn)),
      parts: { annotateLines: true },
    },
    {
      name: 'tools and paths never pruned',
      bodies: [chatBody(turns.at(-1) ?? [])],
      parts: { neverPruneTool: (name) => name === 'bash', neverPrunePath: (path) => path.includes('module-6') },
    },
    { name: 'made texts read in turn', bodies: reading(made) },
    {
      name: 'a file in the user’s words',
      bodies: [
        chatBody([
          { role: 'user', content: `<file path="docs/a.md">\n${fence}\n</file>\n\nWhat does option refund_11 do?` },
        ]),
      ],
    },
    {
      name: 'fields in another order',
      bodies: [
        Buffer.from(JSON.stringify({ messages: [system, user, ...rest], model: 'm', temperature: 0.1 }, null, 2)),
      ],
    },
    { name: 'nothing to prune', bodies: [chatBody([{ role: 'user', content: 'hello' }])] },
  ];
}

/** What is forwarded for each request of some conversations, each over a store of its own on disk. */
export async function goldenBodies(): Promise<GoldenResult[]> {
  const results: GoldenResult[] = [];
  for (const { name, bodies, parts } of goldenConversations()) {
    const rewriter = openRewriter({
      ...parts,
      history: 're-prune',
      store: openStore(join(tempFolder(), 'store.sqlite')),
    });
    for (const [k, body] of bodies.entries()) {
      const rewritten = await rewriter.rewrite(body);
      const about = `${body.length} bytes, ${rewritten.body.length} forwarded`;
      results.push({ name: `${name} · ${k + 1}`, about, hash: digest(rewritten.body) });
    }
  }
  return results;
}
