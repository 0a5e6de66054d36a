import type { ToolResultCase } from '../case.ts';
import { Unavailable } from '../workshop.ts';

const kind = 'test run';

/** Names that read like those of a real suite. */
const AREAS = ['cart', 'checkout', 'coupon', 'invoice', 'refund', 'shipping', 'stock', 'tax'];
const DOES = [
  'keeps the order of its lines',
  'rejects a negative amount',
  'rounds to the cent',
  'ignores an unknown currency',
  'is empty at first',
  'survives a restart',
  'accepts a missing address',
  'sends one mail only',
];

const LIBRARY_JS = `export function total(lines) { return lines.reduce((sum, line) => sum + line.price * line.count, 0); }
export function discount(sum, percent) { return sum - Math.floor(sum * percent) / 100; }
`;

function nodeTests(imports: string): Record<string, string> {
  const files: Record<string, string> = { 'shop.mjs': LIBRARY_JS };
  for (const area of AREAS) {
    const tests = DOES.map(
      (does, i) => `  it('${area} ${does}', () => { assert.equal(total([{ price: ${i}, count: 2 }]), ${i * 2}); });`,
    );
    if (area === 'coupon') {
      tests.push("  it('takes ten percent off 19.99', () => {\n    assert.equal(discount(19.99, 10), 17.99);\n  });");
    }
    files[`${area}.test.mjs`] =
      `${imports}\nimport { discount, total } from './shop.mjs';\ndescribe('${area}', () => {\n${tests.join('\n')}\n});\n`;
  }
  return files;
}

function pythonTests(): Record<string, string> {
  const files: Record<string, string> = {
    'shop.py':
      'def parse_amount(text):\n    return int(round(float(text.replace(",", ".")) * 100))\n\n\ndef split(total, parts):\n    share = total // parts\n    return [share] * parts\n',
  };
  for (const area of AREAS) {
    const tests = DOES.map(
      (does, i) =>
        `    def test_${does.replaceAll(' ', '_')}(self):\n        self.assertEqual(parse_amount("${i},50"), ${i * 100 + 50})\n`,
    );
    if (area === 'invoice') {
      tests.push(
        '    def test_split_keeps_the_sum(self):\n        shares = split(1000, 3)\n        self.assertEqual(sum(shares), 1000)\n',
      );
    }
    if (area === 'tax') {
      tests.push(
        '    def test_amount_with_thousands(self):\n        self.assertEqual(parse_amount("1.234,50"), 123450)\n',
      );
    }
    files[`test_${area}.py`] =
      `import unittest\nfrom shop import parse_amount, split\n\n\nclass Test${area[0]?.toUpperCase()}${area.slice(1)}(unittest.TestCase):\n${tests.join('\n')}`;
  }
  return files;
}

function rustTests(): string {
  const tests = AREAS.flatMap((area) =>
    DOES.map(
      (does, i) =>
        `    #[test]\n    fn ${area}_${does.replaceAll(' ', '_')}() { assert_eq!(super::width("${'x'.repeat(i)}"), ${i}); }\n`,
    ),
  );
  return `pub fn width(text: &str) -> usize { text.len() }

#[cfg(test)]
mod tests {
${tests.join('')}
    #[test]
    fn counts_wide_characters_once() {
        assert_eq!(super::width("日本"), 2, "two characters, not their bytes");
    }
}
`;
}

export const testRuns: readonly ToolResultCase[] = [
  {
    name: 'node-test-tap',
    kind,
    goal: 'npm test fails in CI. Which assertion fails, with which values, and where?',
    hints: { origin: 'command', command: 'npm test' },
    fragments: ['not ok 9 - takes ten percent off 19.99', 'expected: 17.99', 'coupon.test.mjs:', '# fail 1'],
    make: (shop) => {
      const imports = "import assert from 'node:assert/strict';\nimport { describe, it } from 'node:test';";
      return shop.sh('node --test --test-reporter=tap', shop.folder(nodeTests(imports)));
    },
  },
  {
    name: 'node-test-spec',
    kind,
    goal: 'Run the tests and tell me what is wrong with discount().',
    hints: { origin: 'command', command: 'node --test' },
    fragments: ['✖ takes ten percent off 19.99', '!== 17.99'],
    make: (shop) => {
      const imports = "import assert from 'node:assert/strict';\nimport { describe, it } from 'node:test';";
      return shop.sh('node --test --test-reporter=spec', shop.folder(nodeTests(imports)));
    },
  },
  {
    name: 'vitest-verbose',
    kind,
    goal: 'One vitest test is red. What did it expect and what did it get?',
    hints: { origin: 'command', command: 'npx vitest run --reporter=verbose' },
    fragments: ['takes ten percent off 19.99', '17.99', 'coupon.test.mjs:13:12', '1 failed | 64 passed'],
    make: (shop) => {
      const imports = "import { assert, describe, it } from 'vitest';";
      const files = nodeTests(imports);
      const folder = shop.folder(files);
      shop.sh('ln -s "$MODULES" node_modules', folder);
      return shop.sh('"$MODULES/.bin/vitest" run --reporter=verbose --root .', folder);
    },
  },
  {
    name: 'pytest-verbose',
    kind,
    goal: 'pytest says 2 failed. What are the two failures, with the values that were compared?',
    hints: { origin: 'command', command: 'python -m pytest -v' },
    fragments: [
      'FAILED test_invoice.py::TestInvoice::test_split_keeps_the_sum',
      'AssertionError: 999 != 1000',
      "ValueError: could not convert string to float: '1.234.50'",
      'shop.py:2: ValueError',
    ],
    make: (shop) => {
      const out = shop.sh('python3 -m pytest -v -p no:cacheprovider', shop.folder(pythonTests()));
      if (out.includes('No module named pytest')) throw new Unavailable('no pytest');
      return out;
    },
  },
  {
    name: 'unittest-verbose',
    kind,
    goal: "Pourquoi les tests unitaires échouent-ils ? Je lance unittest en mode verbeux pour voir l'assertion fautive.",
    hints: { origin: 'command', command: 'python3 -m unittest -v' },
    fragments: [
      'AssertionError: 999 != 1000',
      "ValueError: could not convert string to float: '1.234.50'",
      'FAILED (failures=1, errors=1)',
    ],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('python3 -m unittest -v', shop.folder(pythonTests()));
    },
  },
  {
    name: 'cargo-test',
    kind,
    goal: 'cargo test: which test panicked, at which line, and what were left and right?',
    hints: { origin: 'command', command: 'cargo test' },
    fragments: [
      'test tests::counts_wide_characters_once ... FAILED',
      'assertion `left == right` failed: two characters, not their bytes',
      'left: 6',
      'test result: FAILED. 64 passed; 1 failed',
    ],
    make: (shop) => {
      shop.need('rustc');
      const folder = shop.folder({ 'lib.rs': rustTests() });
      return shop.sh('rustc --edition 2021 --test lib.rs -o tests 2>/dev/null && ./tests --test-threads=1', folder);
    },
  },
  {
    name: 'junit4-runner',
    kind,
    goal: 'The JUnit run is red. Which test of which class fails, and what did it get?',
    hints: { origin: 'command', command: 'java -cp lib/*:out org.junit.runner.JUnitCore $(cat tests.txt)' },
    fragments: [
      'keepsTheSum(shop.SplitTest)',
      'java.lang.AssertionError: expected:<1000> but was:<999>',
      'at shop.SplitTest.keepsTheSum(SplitTest.java:',
      'Tests run: 193,  Failures: 2',
      'java.lang.IllegalStateException: no rate for EUR',
    ],
    make: (shop) => {
      shop.need('javac');
      const jar = (path: string): string =>
        shop.sh(`ls ~/.m2/repository/${path} 2>/dev/null | sort -V | tail -1`).trim();
      const path = [jar('junit/junit/4.*/*.jar'), jar('org/hamcrest/hamcrest-core/1.3/*.jar')];
      if (path.includes('')) throw new Unavailable('no JUnit 4 in the local Maven repository');
      const cp = path.join(':');
      const run = `java -cp ${cp}:out org.junit.runner.JUnitCore ${JUNIT_NAMES.map((name) => `shop.${name}Test`).join(' ')}`;
      return shop.sh(`javac -cp ${cp} -d out $(find src -name '*.java') && ${run}`, shop.folder(junitTests()));
    },
  },
];

const JUNIT_NAMES = ['Cart', 'Coupon', 'Invoice', 'Refund', 'Shipping', 'Stock', 'Split', 'Tax'];

/** JUnit 4 classes that talk a lot, as suites with a logger do. */
function junitTests(): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of JUNIT_NAMES) {
    const tests = Array.from(
      { length: 24 },
      (_, i) =>
        `  @Test public void case${i}() { System.out.println("INFO ${name}Service - opened a session for tenant ${i}"); ${
          name === 'Tax' && i === 5
            ? 'throw new IllegalStateException("no rate for EUR");'
            : `assertEquals(${i}, Math.abs(-${i}));`
        } }\n`,
    );
    const own = name === 'Split' ? '  @Test public void keepsTheSum() { assertEquals(1000, 1000 / 3 * 3); }\n' : '';
    files[`src/shop/${name}Test.java`] =
      `package shop;\nimport static org.junit.Assert.assertEquals;\nimport org.junit.Test;\npublic class ${name}Test {\n${tests.join('')}${own}}\n`;
  }
  return files;
}
