import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LeftAlone } from '../../src/core/left-alone.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { openRewriter, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const HELLO = chatBody([{ role: 'user', content: 'hello' }]);

describe('a body may be passed over', () => {
  it('only when rewriting it would change nothing', async () => {
    const rewriter = openRewriter({ minPruneChars: 1_000 });
    let passed = 0;
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.integer({ min: 1, max: 60 }).map((lines) => serverLog(lines)),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.constantFrom('user', 'tool', 'file', 'system'), async (content, role) => {
        const body =
          role === 'tool'
            ? chatBody(oneResult(content))
            : chatBody([
                {
                  role: role === 'system' ? 'system' : 'user',
                  content: role === 'file' ? `<file path="a.log">\n${content}\n</file>` : content,
                },
              ]);
        if (!rewriter.mayPassOver(body)) return;
        passed++;
        expect((await rewriter.rewrite(body)).body).toBe(body);
      }),
      { numRuns: 200 },
    );
    expect(passed).toBeGreaterThan(20);
  });

  it('not when it is large, answers something, or names a prune', () => {
    const rewriter = openRewriter({ minPruneChars: 1_000 });
    expect(rewriter.mayPassOver(HELLO)).toBe(true);
    expect(rewriter.mayPassOver(chatBody([{ role: 'user', content: 'x'.repeat(1_000) }]))).toBe(false);
    expect(rewriter.mayPassOver(chatBody([{ role: 'assistant', content: 'hello' }]))).toBe(false);
    expect(rewriter.mayPassOver(chatBody([{ role: 'user', content: 'see prune_id=prn_0123456789AB' }]))).toBe(false);
  });

  it('not once a conversation is left alone', async () => {
    const leftAlone = new LeftAlone(openStore());
    const rewriter = openRewriter({ leftAlone });
    expect(rewriter.mayPassOver(HELLO)).toBe(true);
    await leftAlone.add(HELLO, (await rewriter.rewrite(HELLO)).messages);
    expect(rewriter.mayPassOver(HELLO)).toBe(false);
  });
});
