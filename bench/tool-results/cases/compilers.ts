import type { ToolResultCase } from '../case.ts';

const kind = 'compiler output';

/** C files that compile with a lot of warnings. */
function warningC(n: number): string {
  return `#include <stdio.h>
#include <string.h>
int helper_${n}(int count, const char *name) {
  int unused_${n};
  unsigned int limit = 10;
  for (int i = 0; i < limit; i++) {
    printf("%s %d\\n", name, strlen(name));
  }
  if (count = ${n}) return 1;
}
`;
}

/** A crate with many harmless warnings and one borrow that cannot work. */
function rustMain(): string {
  const noise = Array.from(
    { length: 14 },
    (_, i) =>
      `fn step_${i}(input: &str) -> usize {\n    let mut total = input.len();\n    let unused_${i} = ${i};\n    total\n}\n`,
  );
  return `use std::collections::HashMap;
use std::fs::File;

${noise.join('\n')}
struct Registry { entries: HashMap<String, Vec<u32>> }

impl Registry {
    fn merge(&mut self, key: &str) {
        let first = self.entries.get(key).unwrap();
        self.entries.insert("merged".to_string(), first.clone());
        let slice = &first[0];
        self.entries.clear();
        println!("{}", slice);
    }
}

fn main() {
    let mut registry = Registry { entries: HashMap::new() };
    registry.merge("a");
    println!("{}", ${Array.from({ length: 14 }, (_, i) => `step_${i}("x")`).join(' + ')});
}
`;
}

/** A TypeScript project in which one interface has lost a field that most files still use. */
function tsProject(): Record<string, string> {
  const files: Record<string, string> = {
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        target: 'es2022',
        module: 'esnext',
        moduleResolution: 'bundler',
        types: [],
      },
      include: ['src'],
    }),
    'src/user.ts':
      'export interface User { readonly id: string; readonly displayName: string; age?: number }\nexport function load(id: string): Promise<User> { return Promise.resolve({ id, displayName: id }); }\n',
    'src/session.ts':
      "import { load } from './user.ts';\nexport async function open(id: string): Promise<number> {\n  const user = load(id);\n  return user.displayName.length;\n}\n",
  };
  for (let i = 0; i < 30; i++) {
    files[`src/views/view${i}.ts`] =
      `import type { User } from '../user.ts';\nexport function title${i}(user: User): string {\n  const label = user.name.toUpperCase();\n  return \`\${label} (${i})\`;\n}\nexport function row${i}(users: User[]): string[] {\n  return users.map((user) => user.name);\n}\n`;
  }
  return files;
}

function javaFiles(): Record<string, string> {
  const files: Record<string, string> = {
    'src/app/Ledger.java': `package app;
import java.util.*;
public class Ledger {
  private final Map<String, List<Long>> entries = new HashMap<>();
  public long balance(String account) {
    long sum = 0;
    for (Long amount : entries.get(account)) sum += amount;
    return sum;
  }
  public Optional<Long> last(String account) {
    return entries.get(account).get(entries.get(account).size() - 1);
  }
}
`,
  };
  for (let i = 0; i < 25; i++) {
    files[`src/app/Legacy${i}.java`] = `package app;
import java.util.*;
public class Legacy${i} implements java.io.Serializable {
  public List items = new ArrayList();
  public void put(Object o) { items.add(o); Thread.currentThread().stop(); }
  public String first() { return (String) (Object) items.get(0).toString(); }
}
`;
  }
  return files;
}

const MAKEFILE = `OBJS := $(patsubst %.c,%.o,$(sort $(wildcard *.c)))
app: $(OBJS)
\tgcc -o app $(OBJS) -lm
%.o: %.c
\tgcc -O2 -Wall -Wextra -DVERSION=\\"3.1.4\\" -Iinclude -Ithird_party/include -c -o $@ $<
`;

export const compilers: readonly ToolResultCase[] = [
  {
    name: 'gcc-error-among-warnings',
    kind,
    goal: 'The build fails since I renamed a field of struct config. I run gcc on all files: what is the error?',
    hints: { origin: 'command', command: 'gcc -Wall -Wextra -c *.c' },
    fragments: ['error: ‘struct config’ has no member named ‘timeout’; did you mean ‘timeout_ms’?'],
    make: (shop) => {
      shop.need('gcc');
      const files: Record<string, string> = {
        'net.c':
          '#include <stdlib.h>\nstruct config { int port; long timeout_ms; };\nlong deadline(struct config *c) {\n  return c->timeout * 1000;\n}\n',
      };
      for (let i = 0; i < 22; i++) files[`m${i}.c`] = warningC(i);
      return shop.sh('for f in $(ls *.c | sort); do gcc -Wall -Wextra -c "$f" -o /dev/null; done', shop.folder(files));
    },
  },
  {
    name: 'gxx-template-error',
    kind,
    goal: 'g++ does not compile my sort of std::list any more. What is wrong and on which line of my file?',
    hints: { origin: 'command', command: 'g++ -std=c++17 -c main.cpp' },
    fragments: ['main.cpp:7:12:   required from here', 'error: no match for ‘operator-’'],
    make: (shop) => {
      shop.need('g++');
      const source =
        '#include <algorithm>\n#include <list>\n#include <map>\n#include <string>\nint main() {\n  std::list<std::string> names{"b", "a"};\n  std::sort(names.begin(), names.end());\n  std::map<std::string, int> m;\n  m.find(3.5f);\n  return 0;\n}\n';
      return shop.sh('g++ -std=c++17 -c main.cpp -o /dev/null', shop.folder({ 'main.cpp': source }));
    },
  },
  {
    name: 'rustc-borrow-error',
    kind,
    goal: 'cargo build fails in Registry::merge. Which borrow conflicts with which line?',
    hints: { origin: 'command', command: 'cargo build' },
    fragments: [
      'error[E0502]: cannot borrow `self.entries` as mutable because it is also borrowed as immutable',
      'immutable borrow occurs here',
      'self.entries.clear();',
    ],
    make: (shop) => {
      shop.need('rustc');
      return shop.sh('rustc --edition 2021 --color never main.rs -o app', shop.folder({ 'main.rs': rustMain() }));
    },
  },
  {
    name: 'tsc-renamed-field',
    kind,
    goal: 'After renaming User.name to displayName tsc reports errors. Besides the views that still use name, is there another kind of error, in session.ts?',
    hints: { origin: 'command', command: 'npx tsc -p .' },
    fragments: ["src/session.ts(4,15): error TS2339: Property 'displayName' does not exist on type 'Promise<User>'."],
    make: (shop) => shop.sh('"$MODULES/.bin/tsc" -p . --pretty false', shop.folder(tsProject())),
  },
  {
    name: 'tsc-pretty',
    kind,
    goal: 'tsc fails with 61 errors. Why does session.ts not compile?',
    hints: { origin: 'command', command: 'npx tsc --pretty' },
    fragments: ["Property 'displayName' does not exist on type 'Promise<User>'", 'return user.displayName.length;'],
    make: (shop) =>
      shop.sh('"$MODULES/.bin/tsc" -p . --pretty true | sed "s/\\x1b\\[[0-9;]*m//g"', shop.folder(tsProject())),
  },
  {
    name: 'javac-error-among-lint',
    kind,
    goal: 'javac -Xlint:all prints pages. What keeps Ledger from compiling?',
    hints: { origin: 'command', command: 'javac -Xlint:all -d out $(find src -name "*.java")' },
    fragments: ['src/app/Ledger.java:11: error: incompatible types: Long cannot be converted to Optional<Long>'],
    make: (shop) => {
      shop.need('javac');
      return shop.sh('javac -Xlint:all -d out $(find src -name "*.java" | sort)', shop.folder(javaFiles()));
    },
  },
  {
    name: 'make-undefined-reference',
    kind,
    goal: 'make stops at the link step. Which symbol is missing, and which object asks for it?',
    hints: { origin: 'command', command: 'make -j1' },
    fragments: ['undefined reference to `checksum_v2', 'in function `verify'],
    make: (shop) => {
      shop.need('make', 'gcc');
      const files: Record<string, string> = {
        Makefile: MAKEFILE,
        'main.c': 'int verify(int); int main(void) { return verify(1); }\n',
      };
      for (let i = 0; i < 40; i++) files[`unit_${i}.c`] = `int unit_${i}(int unused) { return ${i}; }\n`;
      files['verify.c'] = 'int checksum_v2(int);\nint verify(int x) { return checksum_v2(x); }\n';
      return shop.sh('make -j1', shop.folder(files));
    },
  },
];
