import fc from 'fast-check';
import { expect, test } from 'vitest';
import { declarationOf, mayDeclare, opensFunction } from '../../src/engine/kinds/code/declarations.ts';
import { RULES } from '../../src/engine/kinds/shape-rules.ts';
import { countShapes } from '../../src/engine/kinds/shapes.ts';
import { CRY, cryOf } from '../../src/engine/rules/cries.ts';
import { codesOf } from '../../src/engine/text/codes.ts';
import { contentOf, isBlankLine, viewText } from '../../src/engine/text/view.ts';

const piece = fc.constantFrom(
  ...'diff --git |--- a|+++ b|index 0123456|@@ -1|src/a.ts:12:|a/b:|--|-rw-r--r-- 1|total 8|./a/b|├── x|│   └── y|"k": 1|[|},|12,|true|ok 1|not ok 2|PASS |✓ |✗ |=== RUN|--- FAIL|test a ... ok|PASSED|a (b) ... ok|[INFO] Tests run:|TAP version'.split(
    '|',
  ),
  ...'a.c:1:2: error: x|error: x|  --> a:1|make: |: error TS1|2026-01-02 03:04:05|12:00:00|Jan  2 03:04:05|a b c [02/Jan/|{"time"|WARN x|npm |Failed|fatal|  at f (a:1)|File "a", line 1|goroutine 1 |Caused by: |Traceback (|# h|```|====|.. x|x;|{|def f(a):|// c|a = b|f(x)|\u00a0|\u3000| |  |\t|.|é'.split(
    '|',
  ),
);
const line = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join(''));

test('a shape is counted on every line that its pattern matches, however the line begins', () => {
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 30 }), (lines) => {
      const view = viewText(lines.join('\n'), 0);
      const contents = Array.from({ length: view.n }, (_, i) => i)
        .filter((i) => !isBlankLine(view, i) && !view.numbered)
        .map((i) => contentOf(view, i, 240));
      fc.pre(!view.numbered);
      const shapes = countShapes(view);
      for (const { shape, pattern } of RULES) {
        expect([shape, shapes[shape]]).toEqual([shape, contents.filter((content) => pattern.test(content)).length]);
      }
    }),
    { numRuns: 400 },
  );
});

test.each([
  ['myErrorCode', CRY.failure],
  ['it TIMED OUT', CRY.hot],
  ['a timeout', CRY.hot],
  ['not found', CRY.hot],
  ['not ok 3', CRY.trouble],
  ['E0432', CRY.hot],
  ['segmentation', CRY.trouble],
  ['asserted', CRY.trouble],
  ['✖ 2 problems', CRY.trouble],
  ['retrying', CRY.warm],
  ['##[group]Run', CRY.group],
  ['XPASS', CRY.result],
  ['test a ... ok', CRY.dots],
  ['a warning', CRY.diagnostic],
])('in “%s” a word is found that asks for a look', (text, cry) => {
  expect(cryOf(codesOf(text), 0, text.length) & cry).toBe(cry);
});

test('nothing is found where no such word stands, not even pieces of one', () => {
  const text = 'fata pani erro rror exceptio not_ok cann ot retr';
  expect(cryOf(codesOf(text), 0, text.length)).toBe(0);
});

const codePiece = fc.constantFrom(
  ...`import |from x import |#include <a>|use a::b|package |using a.b;|const {a} = require('b')|require 'a'|require_once |mod a;|extern crate |
export default |pub(crate) |"C" |static |CLASS A|interface A|type A struct|type A = |CREATE TABLE |def a|defp a|fn a|func (|function |sub a|proc a|
CREATE OR REPLACE FUNCTION |int main(|a-b() {|private a(|a |(|) {|;|=> |\u00a0|\u3000|  |\t|_|9`
    .replaceAll('\n', '')
    .split('|'),
);

test('no declaration is passed over by a look at its first word', () => {
  fc.assert(
    fc.property(fc.array(codePiece, { minLength: 1, maxLength: 4 }), (pieces) => {
      const view = viewText(`${pieces.join('')}\n`, 0);
      fc.pre(!isBlankLine(view, 0));
      if (declarationOf(contentOf(view, 0)) === 'none') return;
      expect(mayDeclare(view.codes, view.from[0] ?? 0, view.ink[0] ?? 0, view.to[0] ?? 0)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['  async load(id) {', true],
  ['  load(a,', true],
  ['  const load = async (id) => id + 1;', true],
  ['  load: function () { return 1; },', true],
  ['  load(id): void  ', false],
  ['  if (id) {', false],
  ['  load(id);', false],
])('whether “%s” opens a function: %s', (code, opens) => {
  expect(opensFunction(code)).toBe(opens);
});
