import { describe, expect, it } from 'vitest';
import { scriptArgs } from '../../../src/wires/transcript/script-args.ts';
import { callFacts } from '../../../src/wires/transcript/tools.ts';

const call = (args: string) => ({ name: 'exec', args });

describe('a script instead of a call', () => {
  it('yields the command that it runs, and the kind of its output', () => {
    const script =
      'const r = await tools.exec_command({ cmd: "grep -n \\"worker=\\" logs/app.log | head -n 210", max_output_tokens: 60000 });\ntext(r.output);\n';
    const { hints, said } = callFacts(call(script));
    expect(hints).toEqual({ origin: 'search', command: 'grep -n "worker=" logs/app.log | head -n 210' });
    expect(said).toBe('grep -n "worker=" logs/app.log | head -n 210');
  });

  it('yields the file that it prints', () => {
    expect(callFacts(call("await tools.shell({command: ['bash', '-lc', 'cat src/inventory.py']})")).hints).toEqual({
      origin: 'read',
      path: 'src/inventory.py',
      command: 'cat src/inventory.py',
    });
  });

  it('yields several calls in order, with any quotes', () => {
    const script = "await tools.exec_command({cmd: `cd src`}); await tools.exec_command({'cmd': 'npm test'})";
    expect(scriptArgs(script)).toEqual({ cmd: 'cd src\nnpm test' });
  });

  it('is recognised only if it calls a tool', () => {
    expect(scriptArgs('{ cmd: "ls" }')).toBeNull();
    expect(scriptArgs('*** Begin Patch\n*** Update File: a.ts\n')).toBeNull();
  });

  it('is read in time that grows linearly with its length', () => {
    const startedAt = process.cpuUsage().user;
    for (const part of ['cmd: "', 'cmd:[', "path: '\\", 'tools.a(', 'cmd: '])
      scriptArgs(`tools.x(${part.repeat(20_000)}`);
    expect(process.cpuUsage().user - startedAt).toBeLessThan(2_000_000);
  });
});
