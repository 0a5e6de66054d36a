import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askedLines, editedFiles, shownFiles, withWindowFile } from '../../../src/wires/transcript/call-targets.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';

const call = (name: string, args: object | string) => ({
  name,
  args: typeof args === 'string' ? args : JSON.stringify(args),
});

describe('the files that a call changes', () => {
  it.each([
    ['write_file', { path: 'src/a.ts', content: 'x' }, ['src/a.ts']],
    ['Edit', { file_path: '/w/src/a.ts', old_string: 'a', new_string: 'b' }, ['/w/src/a.ts']],
    ['str_replace_based_edit_tool', { command: 'str_replace', path: 'src/a.ts' }, ['src/a.ts']],
    ['str_replace_based_edit_tool', { command: 'view', path: 'src/a.ts' }, []],
    ['editor', { command: 'create', path: 'src/a.ts', file_text: 'x' }, ['src/a.ts']],
    ['editor', { command: 'insert', path: 'src/a.ts', insert_line: 3, new_str: 'x' }, ['src/a.ts']],
    ['bash', { command: 'make', path: '/w' }, []],
    ['MultiEdit', { file_path: 'a.ts', edits: [] }, ['a.ts']],
    [
      'apply_patch',
      { input: '*** Begin Patch\n*** Add File: new.ts\n+x\n*** Delete File: old.ts\n' },
      ['new.ts', 'old.ts'],
    ],
    ['apply_patch', '*** Begin Patch\n*** Update File: a/b.ts\n@@', ['a/b.ts']],
    ['shell', { command: ['bash', '-lc', 'apply_patch <<EOF\n*** Update File: a.ts\nEOF'] }, ['a.ts']],
    ['bash', { command: "sed -i 's/a/b/' src/a.ts && npm test" }, ['src/a.ts']],
    ['bash', { command: 'cat > src/new.ts <<EOF\nx\nEOF' }, ['src/new.ts']],
    ['bash', { command: 'make 2>&1 | tee -a build.log' }, ['build.log']],
    ['bash', { command: 'grep -rn total src 2>/dev/null | head' }, []],
    ['bash', { command: 'cat src/a.ts' }, []],
    ['read_file', { path: 'src/a.ts' }, []],
    ['search_files', { path: 'src', regex: 'update' }, []],
    ['update_plan', { plan: [] }, []],
    ['write_file', 'not json', []],
  ])('%s %j: %j', (name, args, files) => {
    expect(editedFiles(call(name, args))).toEqual(files);
  });

  it('are an empty list for a result without a call', () => {
    expect(editedFiles(undefined)).toEqual([]);
  });

  it('are found in time that grows linearly with the arguments', () => {
    const time = (command: string): number => {
      const began = cpuMs();
      editedFiles(call('bash', { command }));
      return cpuMs() - began;
    };
    for (const unit of ['sed ', 'sed -i ', '> ', '>', 'tee ', '*** Update File: ', '+++ b/', ' \t', 'sed -n ']) {
      expect(time(unit.repeat(20_000)), unit).toBeLessThan(1_000);
    }
    fc.assert(
      fc.property(fc.string({ maxLength: 500 }), (text) => editedFiles(call('bash', { command: text })).length <= 20),
    );
  });
});

describe('the lines requested by a call', () => {
  it.each([
    [{ path: 'a', start_line: 10, end_line: 20 }, 10, 20],
    [{ path: 'a', offset: 10, limit: 5 }, 10, 14],
    [{ path: 'a', limit: 5 }, 0, 5],
    [{ path: 'a', view_range: [3, 9] }, 3, 9],
    [{ path: 'a', view_range: [3, -1] }, 3, 0],
    [{ path: 'a', start_line: '10' }, 10, 0],
    [{ command: "sed -n '5,9p' a" }, 5, 9],
    [{ command: 'cat a' }, 0, 0],
    [{ path: 'a', start_line: -4, end_line: 1.5 }, 0, 0],
  ])('%j: %d to %d', (args, startLine, endLine) => {
    expect(askedLines(call('read', args))).toEqual({ startLine, endLine });
  });
});

describe('the files that a call shows', () => {
  const shown = (name: string, args: unknown) => shownFiles({ name, args: JSON.stringify(args) });

  it.each([
    ['read', { path: 'src/a.ts', offset: 200 }, ['src/a.ts']],
    ['str_replace_editor', { command: 'view', path: '/w/a.py', view_range: [1, 9] }, ['/w/a.py']],
    ['bash', { command: "cd /w && sed -n '1,200p' src/a.ts" }, ['/w/src/a.ts']],
    [
      'bash',
      { command: 'cd src; cat a.ts; cd lib && head -9 b.ts /etc/c.conf' },
      ['src/a.ts', 'src/lib/b.ts', '/etc/c.conf'],
    ],
    ['bash', { command: 'cat src/a.ts src/b.ts | head -50; nl -ba "src/c.ts"' }, ['src/a.ts', 'src/b.ts', 'src/c.ts']],
    ['exec_command', { cmd: ['bash', '-lc', 'tail -n 20 logs/app.log'] }, ['logs/app.log']],
    ['exec_command', { cmd: 'bash -lc "cat a.ts && sed -n 1,9p b.ts"' }, ['a.ts', 'b.ts']],
    ['bash', { command: "cat > src/a.ts <<'EOF'\nx\nEOF" }, []],
    ['bash', { command: "sed -i 's/a/b/' src/a.ts" }, []],
    ['bash', { command: 'grep -n voucher src/a.ts' }, []],
    ['bash', { command: 'npm test' }, []],
    ['write', { path: 'src/a.ts', content: 'x' }, []],
    ['str_replace_editor', { command: 'create', path: '/w/a.py' }, []],
  ])('are recognised by tool and command: %s %j', (name, args, files) => {
    expect(shown(name, args)).toEqual(files);
  });

  it('are an empty list if there is no call', () => {
    expect(shownFiles(undefined)).toEqual([]);
  });
});

describe('a call that moves the window of a viewer', () => {
  const window = '[File: /w/src/a.py (940 lines total)]\n(40 more lines above)\n41:import os\n';
  const moved = (name: string, args: object, result = window) => shownFiles(withWindowFile(call(name, args), result));

  it('shows the file that its result names', () => {
    expect(moved('goto', {})).toEqual(['/w/src/a.py']);
    expect(moved('scroll_down', {})).toEqual(['/w/src/a.py']);
    expect(moved('goto', { line_number: 41 }, `Moved.\n${window}`)).toEqual(['/w/src/a.py']);
  });

  it('shows the file that it names itself, if any, and no file if the result names none', () => {
    expect(moved('open', { path: 'src/b.py' })).toEqual(['src/b.py']);
    expect(moved('goto', {}, '41:import os\n')).toEqual([]);
    expect(moved('edit', {})).toEqual([]);
  });

  it('is recognised by its tool, not by its result', () => {
    expect(moved('run_tests', {})).toEqual([]);
  });
});
