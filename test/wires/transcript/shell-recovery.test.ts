import { describe, expect, it } from 'vitest';
import { isRecovery, shellRecovery } from '../../../src/wires/transcript/shell-recovery.ts';

const ID = 'prn_0123456789AB';
const ran = (command: string | readonly string[]) => shellRecovery({ name: 'bash', args: JSON.stringify({ command }) });
const lines = (...ranges: readonly (readonly [number, number])[]) => [
  { pruneId: ID, ranges: ranges.map(([startLine, endLine]) => ({ startLine, endLine })) },
];

describe('a command that recovers originals', () => {
  it.each<[string | readonly string[], ReturnType<typeof lines>]>([
    [`mcp-pruner recover ${ID} --lines 10-40`, lines([10, 40])],
    [`mcp-pruner recover ${ID}`, lines()],
    [`mcp-pruner recover ${ID} --lines=7,10-40 | head -20`, lines([7, 7], [10, 40])],
    [`npx -y mcp-pruner@1.2.3 recover ${ID}`, lines()],
    [`npm exec mcp-pruner -- recover ${ID}`, lines()],
    [`node /opt/mcp-pruner/dist/cli.js recover ${ID} --lines 1-9`, lines([1, 9])],
    [`cd /srv && ./node_modules/.bin/mcp-pruner why ${ID} --lines`, lines()],
    [`sh -c 'mcp-pruner recover ${ID} | nl'`, lines()],
    [`timeout 9 bash -lc "cd a; mcp-pruner recover ${ID}"`, lines()],
    [['bash', '-lc', `mcp-pruner why ${ID} --lines 3-4`], lines([3, 4])],
    [`mcp-pruner recover '⟦PRUNÉ: prune_id=${ID} lignes 3-9 (7) raison=hors focus⟧'`, lines([3, 9])],
    [`ID=${ID}; mcp-pruner recover "$ID"`, lines()],
    [`echo ${ID} | xargs mcp-pruner recover`, lines()],
    [`for id in ${ID}; do mcp-pruner recover $id; done`, lines()],
    [`text=$(mcp-pruner recover ${ID}); echo "$text"`, lines()],
  ])('%s prints nothing else', (command, expected) => {
    expect(ran(command)).toEqual({ isWholeOutput: true, lines: expected });
  });

  it.each([
    `npm test; mcp-pruner recover ${ID} --lines 1-9`,
    `sh -c 'npm test; mcp-pruner recover ${ID} --lines 1-9'`,
    `mcp-pruner recover ${ID} --lines 1-9 && cat app.log`,
    `cd a && bash -c "git log; mcp-pruner recover ${ID} --lines 1-9"`,
  ])('%s prints something else as well', (command) => {
    expect(ran(command)).toEqual({ isWholeOutput: false, lines: lines([1, 9]) });
  });

  it('names no original if it only searches for one', () => {
    expect(ran('mcp-pruner recall payment failed')).toEqual({ isWholeOutput: true, lines: [] });
  });

  it.each([
    `grep -rn ${ID} .`,
    'mcp-pruner serve',
    'npm install mcp-pruner && npm test',
    'cat node_modules/mcp-pruner/README.md',
    `echo "recover ${ID}"`,
    'node dist/cli.js build',
  ])('is not %s', (command) => {
    expect(ran(command)).toBeNull();
  });

  it('counts as a recovery, just like a call of the tool', () => {
    const args = JSON.stringify({ cmd: `mcp-pruner recover ${ID}` });
    expect(isRecovery({ name: 'exec_command', args })).toBe(true);
    expect(isRecovery({ name: 'mcp__pruner__recover_text', args: '{}' })).toBe(true);
    expect(isRecovery({ name: 'exec_command', args: '{"cmd":"npm test"}' })).toBe(false);
  });

  it('is also read from a script of calls', () => {
    const args = `const r = await tools.exec_command({ cmd: "mcp-pruner recover ${ID} --lines 2-3" }); text(r.output);`;
    expect(shellRecovery({ name: 'exec', args })).toEqual({ isWholeOutput: true, lines: lines([2, 3]) });
  });
});
