import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A throw-away repository; every commit gets the same clock, so that ids repeat. */
export class TestRepository {
  readonly path: string;

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'mcp-pruner-eval-'));
    this.git('init', '-q', '-b', 'main');
  }

  git(...args: string[]): string {
    const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false'];
    return execFileSync('git', [...identity, '-C', this.path, ...args], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        GIT_AUTHOR_DATE: '2024-01-01T00:00:00Z',
        GIT_COMMITTER_DATE: '2024-01-01T00:00:00Z',
      },
    });
  }

  /** Writes files and commits them. */
  commit(message: string, files: Record<string, string | Buffer>): string {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.path, name)), { recursive: true });
      writeFileSync(join(this.path, name), content);
    }
    this.git('add', '-A');
    this.git('commit', '-q', '-m', message);
    return this.git('rev-parse', 'HEAD').trim();
  }

  /** A bare copy beside it. */
  bare(): string {
    const path = `${this.path}.git`;
    this.git('clone', '-q', '--bare', this.path, path);
    return path;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
    rmSync(`${this.path}.git`, { recursive: true, force: true });
  }
}

/** A source file of `functions` functions, eight lines each. */
export function sourceFile(
  functions: number,
  body: (n: number) => string = (n) => `value_${n} = compute(${n})`,
): string {
  return Array.from({ length: functions }, (_, n) =>
    [
      `def handle_${n}(request, context):`,
      `    """Handles the request number ${n} of the service."""`,
      `    ${body(n)}`,
      `    context.log("step ${n} of the whole process")`,
      `    if request.flag_${n}:`,
      `        return transform_${n}(request)`,
      '    return None',
      '',
    ].join('\n'),
  ).join('\n');
}
