import { describe, expect, it } from 'vitest';
import { chatBody, contentAt, type Message, messagesOf } from '../helpers/chat.ts';
import { openRewriter, openStore, restored, verdicts } from '../helpers/rewriter.ts';
import { sourceFile } from '../helpers/texts.ts';

/** So large that it is cut although it is a file that is read. */
const FUNCTIONS = 200;
const FILE = sourceFile(FUNCTIONS);
const ASKED = 'Why does loadOrder0 return the same order twice? Look only at how it fills the set.';

const shapes: Readonly<Record<string, string>> = {
  pi: `<file name="/w/src/orders.ts">\n${FILE}</file>\n${ASKED}`,
  cline: `${ASKED}\n\n<file_content path="src/orders.ts">\n${FILE}</file_content>\n\n<environment_details>\nnow\n</environment_details>`,
  kilo: `${ASKED}\n\n<files>\n<file><path>src/orders.ts</path>\n<content lines="1-440">\n${FILE}</content>\n</file>\n</files>`,
  aider: `I have *added these files to the chat* so you can go ahead and edit them.\n\nsrc/orders.ts\n\`\`\`\n${FILE}\n\`\`\`\n`,
  continue: `\`\`\`ts src/orders.ts\n${FILE}\n\`\`\`\n\n${ASKED}`,
  qwen: `${ASKED}\n--- Content from referenced files ---\nContent from @src/orders.ts:\n${FILE}\n--- End of content ---`,
  deepseek: `[file name]: orders.ts\n[file content begin]\n${FILE}[file content end]\n${ASKED}`,
};

describe('a file in a user’s message', () => {
  it.each(Object.entries(shapes))(
    'is pruned inside its frame, and everything around it stays unchanged: %s',
    async (_name, content) => {
      const store = openStore();
      const messages = [
        { role: 'user', content: ASKED },
        { role: 'user', content },
      ];
      const rewritten = await openRewriter({ store }).rewrite(chatBody(messages));
      expect(verdicts(rewritten)).toEqual(['cut']);
      const sent = contentAt(rewritten.body, -1);
      expect(sent.length).toBeLessThan(content.length);
      expect(await restored(sent, store)).toBe(content);
      const [before, after] = content.split(FILE) as [string, string];
      expect(sent.startsWith(before)).toBe(true);
      expect(sent.endsWith(after)).toBe(true);
      expect(sent).toContain('loadOrder0');
    },
  );

  it('is pruned as a separate part, whether its frame or the part before it announces it', async () => {
    for (const parts of [
      [`<path>/w/orders.ts</path>\n<type>file</type>\n<content>\n${FILE}\n(End of file)\n</content>`, ASKED],
      [`${ASKED}\nContent from @src/orders.ts:\n`, FILE],
    ]) {
      const store = openStore();
      const content = parts.map((text) => ({ type: 'text', text }));
      const messages: Message[] = [{ role: 'user', content }];
      const rewritten = await openRewriter({ store }).rewrite(chatBody(messages));
      expect(verdicts(rewritten)).toEqual(['cut']);
      const sent = messagesOf(rewritten.body)[0]?.content as { type: string; text: string }[];
      expect(await Promise.all(sent.map(({ text }) => restored(text, store)))).toEqual(parts);
    }
  });

  it('is pruned together with other files, each under its own id', async () => {
    const store = openStore();
    const content = ['a', 'b', 'c']
      .map((name, i) => `<file name="${name}.ts">\n${sourceFile(FUNCTIONS + i)}</file>`)
      .join('\n');
    const rewritten = await openRewriter({ store }).rewrite(
      chatBody([{ role: 'user', content: `${content}\n${ASKED}` }]),
    );
    expect(verdicts(rewritten)).toEqual(['cut', 'cut', 'cut']);
    expect(new Set(rewritten.outcomes.map(({ pruneId }) => pruneId)).size).toBe(3);
    expect(await restored(contentAt(rewritten.body, -1), store)).toBe(`${content}\n${ASKED}`);
  });
});
