import { describe, expect, it } from 'vitest';
import { HeldLines } from '../src/held-lines.ts';

const LINE = 'the proxy forwards to http://127.0.0.1:11434/v1, which this agent is set up for in its own settings';

function lines(terminal: { readonly errIsTerminal: boolean; readonly errColumns?: number }) {
  let text = '';
  const held = new HeldLines({ err: (more) => (text += more), ...terminal });
  return { held, text: () => text };
}

describe('a status line of mcp-pruner run', () => {
  it('is wrapped to a narrow terminal without losing words', () => {
    const { held, text } = lines({ errIsTerminal: true, errColumns: 60 });
    held.say(LINE);
    const shown = text().trimEnd().split('\n');
    expect(shown.length).toBeGreaterThan(1);
    expect(Math.max(...shown.map(({ length }) => length))).toBeLessThanOrEqual(60);
    expect(shown.map((line) => line.trim()).join(' ')).toBe(`mcp-pruner: ${LINE}`);
  });

  it('is not wrapped if stderr is not a terminal', () => {
    const { held, text } = lines({ errIsTerminal: false });
    held.hold();
    held.say(LINE);
    expect(text()).toBe(`mcp-pruner: ${LINE}\n`);
  });

  it('is held back while an agent draws on the terminal, then printed in order', () => {
    const { held, text } = lines({ errIsTerminal: true, errColumns: 200 });
    held.hold();
    held.say('one');
    held.say('two');
    expect(text()).toBe('');
    held.release();
    expect(text()).toBe('mcp-pruner: one\nmcp-pruner: two\n');
  });
});
