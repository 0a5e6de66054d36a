import type { ToolResultCase } from '../case.ts';

const kind = 'package or CI log';

/** Local packages, two of which want different majors of the same peer. */
function conflicting(): Record<string, string> {
  const files: Record<string, string> = {};
  const dependencies: Record<string, string> = {};
  const add = (name: string, version: string, more: object = {}): void => {
    files[`pkgs/${name}/package.json`] = JSON.stringify({ name, version, ...more });
    dependencies[name] = `file:pkgs/${name}`;
  };
  for (let i = 0; i < 30; i++) add(`widget-${i}`, `1.${i}.0`, { peerDependencies: { framework: '^4.0.0' } });
  add('framework', '4.2.1');
  add('legacy-charts', '0.9.3', { peerDependencies: { framework: '^3.1.0' } });
  files['package.json'] = JSON.stringify({ name: 'dashboard', version: '1.0.0', dependencies });
  return files;
}

/** Local packages of which one has an install script that fails. */
function failingScript(): Record<string, string> {
  const files: Record<string, string> = {};
  const dependencies: Record<string, string> = {};
  for (let i = 0; i < 30; i++) {
    files[`pkgs/lib-${i}/package.json`] = JSON.stringify({ name: `lib-${i}`, version: '2.0.0' });
    dependencies[`lib-${i}`] = `file:pkgs/lib-${i}`;
  }
  files['package.json'] = JSON.stringify({
    name: 'api',
    version: '1.0.0',
    dependencies,
    scripts: { postinstall: 'node build-native.cjs' },
  });
  files['build-native.cjs'] =
    `for (let i = 0; i < 60; i++) console.log('CC(target) Release/obj.target/native/src/part_' + i + '.o');
console.error('../src/binding.cc:41:10: fatal error: openssl/evp.h: No such file or directory');
process.exit(1);
`;
  return files;
}

/** A CI job as a script: set-up, build, lint and test steps with groups and a clock in front of each line. */
const CI_JOB = `step() { echo "##[group]$1"; shift; echo "\\$ $*"; "$@"; local rc=$?; echo "##[endgroup]"; return $rc; }
build() { for f in $(ls src/*.c | sort); do echo "gcc -O2 -c $f"; gcc -O2 -Wall -c "$f" -o "\${f%.c}.o" || return 1; done; }
checks() { for i in $(seq 1 70); do echo "[$i/72] check headers/api_$i.h ... ok"; done; echo "[71/72] check headers/api_71.h ... missing include guard"; return 3; }
{
step "Set up job" uname -s
step "Restore cache" seq -f "Extracting layer %g of 60" 1 60
step "Build" build
step "Check headers" checks || { echo "##[error]Process completed with exit code 3."; echo "Cleaning up orphan processes"; }
} 2>&1 | while IFS= read -r line; do printf '%(%Y-%m-%dT%H:%M:%S)T.0000000Z %s\\n' -1 "$line"; done`;

export const packageLogs: readonly ToolResultCase[] = [
  {
    name: 'npm-invalid-peer',
    kind,
    goal: 'npm ls says ELSPROBLEMS. Which package wants another version of framework?',
    hints: { origin: 'command', command: 'npm install --legacy-peer-deps && npm ls --all' },
    fragments: ['invalid: "^3.1.0" from pkgs/legacy-charts', 'npm error code ELSPROBLEMS'],
    make: (shop) => {
      shop.need('npm');
      const install = 'npm install --offline --no-audit --cache ./cache --legacy-peer-deps --loglevel verbose';
      return shop.sh(`${install}; npm ls --all`, shop.folder(conflicting()));
    },
  },
  {
    name: 'npm-postinstall-fails',
    kind,
    goal: 'npm ci breaks in the postinstall script on the build machine. What is missing there?',
    hints: { origin: 'command', command: 'npm install --foreground-scripts' },
    fragments: ['fatal error: openssl/evp.h: No such file or directory', 'npm error command failed'],
    make: (shop) => {
      shop.need('npm');
      const install = 'npm install --offline --no-audit --cache ./cache --foreground-scripts --loglevel verbose';
      return shop.sh(install, shop.folder(failingScript()));
    },
  },
  {
    name: 'ci-job',
    kind,
    goal: 'CI is red on main: which step failed and why?',
    hints: { origin: 'command', command: 'gh run view 4711 --log' },
    fragments: [
      '##[group]Check headers',
      '[71/72] check headers/api_71.h ... missing include guard',
      '##[error]Process completed with exit code 3.',
    ],
    make: (shop) => {
      shop.need('gcc');
      const files: Record<string, string> = {};
      for (let i = 0; i < 40; i++) files[`src/part_${i}.c`] = `int part_${i}(void) { return ${i}; }\n`;
      return shop.sh(CI_JOB, shop.folder(files));
    },
  },
  {
    name: 'maven-unresolved-parent',
    kind,
    goal: 'mvn -X package fails before compiling anything. Which artifact cannot be resolved?',
    hints: { origin: 'command', command: 'mvn -X package' },
    fragments: ['Non-resolvable parent POM', 'com.example:platform-parent:pom:7.1.0'],
    make: (shop) => {
      shop.need('mvn');
      const parent =
        '<parent><groupId>com.example</groupId><artifactId>platform-parent</artifactId><version>7.1.0</version></parent>';
      const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>${parent}<artifactId>shop</artifactId></project>`;
      return shop.sh('timeout 60 mvn -o -B -X package', shop.folder({ 'pom.xml': pom }));
    },
  },
];
