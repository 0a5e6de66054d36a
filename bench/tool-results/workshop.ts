import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A tool or file that a case needs is not on this machine. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** What programs are run with: npm hands its own options down (`npm run --silent` silences the npm that a case runs). */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
}

/** A temp folder, real tools, and the packages in node_modules: what the texts are made from. */
export class Workshop {
  readonly root = mkdtempSync(join(tmpdir(), 'tool-results-'));
  readonly modules: string;
  #folders = 0;

  constructor(projectRoot: string) {
    this.modules = join(projectRoot, 'node_modules');
  }

  /** A folder of its own with these files in it. */
  folder(files: Readonly<Record<string, string>> = {}): string {
    const path = join(this.root, `w${++this.#folders}`);
    mkdirSync(path);
    this.write(path, files);
    return path;
  }

  write(folder: string, files: Readonly<Record<string, string>>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
  }

  /** What a shell command prints on stdout and stderr together, whatever its exit code. */
  sh(command: string, cwd = this.root): string {
    const { stdout, status, error } = spawnSync('bash', ['-c', `{ ${command}\n} 2>&1`], {
      cwd,
      encoding: 'utf8',
      timeout: 120_000,
      maxBuffer: 64 << 20,
      env: {
        ...environment(),
        LC_ALL: 'C.UTF-8',
        NO_COLOR: '1',
        FORCE_COLOR: undefined,
        MODULES: this.modules,
        GIT_CONFIG_GLOBAL: '/dev/null',
        PYTHONDONTWRITEBYTECODE: '1',
      },
    });
    if (error) throw new Unavailable(`${command.split('\n')[0]}: ${error.message}`);
    if (status === 127) throw new Unavailable(stdout.trim().split('\n').at(-1));
    return stdout;
  }

  /** Throws `Unavailable` unless all these programs can be found. */
  need(...programs: string[]): void {
    for (const program of programs) {
      if (spawnSync('bash', ['-c', 'command -v "$0"', program]).status !== 0) throw new Unavailable(`no ${program}`);
    }
  }

  /** A file of an installed package. */
  packageFile(path: string): string {
    try {
      return readFileSync(join(this.modules, path), 'utf8');
    } catch {
      throw new Unavailable(`no ${path} in node_modules`);
    }
  }

  close(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
