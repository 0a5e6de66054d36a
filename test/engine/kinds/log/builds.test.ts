import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { pruned, rulesOf } from './helpers.ts';

const HINTS = { origin: 'command', command: 'terraform plan -no-color' } as const;
const WORDS = 'cart order stock price mail audit login media tax credit quote route badge parcel relay cron'.split(' ');
const INDEXES = Array.from({ length: 30 }, (_, i) => i);
const nameOf = (i: number): string => `${WORDS[(i * 7) % 16]}-${WORDS[(i * 11) % 16]}-${i}`;

function idOf(i: number): string {
  const hash = createHash('md5').update(String(i)).digest('hex');
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** What terraform prints about thirty changes and a replacement. */
function planOf(sum: string): string {
  const change = (i: number): string => `  # terraform_data.${nameOf(i)} will be updated in-place
  ~ resource "terraform_data" "${nameOf(i)}" {
        id     = "${idOf(i)}"
      ~ input  = "${i}" -> "v${i}"
      ~ output = "${i}" -> (known after apply)
    }
`;
  return `${INDEXES.map((i) => `terraform_data.${nameOf(i)}: Refreshing state... [id=${idOf(i)}]`).join('\n')}

Terraform used the selected providers to generate the following execution
plan. Resource actions are indicated with the following symbols:
  ~ update in-place
-/+ destroy and then create replacement

Terraform will perform the following actions:

${INDEXES.map(change).join('\n')}
  # terraform_data.ledger must be replaced
-/+ resource "terraform_data" "ledger" {
      ~ id               = "2b7ba7ad-0e6c-07b3-21dd-ae23a3b9a1c3" -> (known after apply)
      ~ triggers_replace = "1" -> "2" # forces replacement
    }

${sum}

${'─'.repeat(77)}

Note: You didn't use the -out option to save this plan, so Terraform can't
guarantee to take exactly these actions if you run "terraform apply" now.`;
}

describe('the output of terraform', () => {
  it.each([
    'Plan: 1 to add, 30 to change, 1 to destroy.',
    'Apply complete! Resources: 1 added, 30 changed, 1 destroyed.',
    'No changes. Your infrastructure matches the configuration.',
  ])('keeps its sum: %s', (sum) => {
    const { kept, cut } = pruned(planOf(sum), 'Is the change safe?', HINTS);
    expect(kept).toContain(sum);
    expect(cut.length).toBeGreaterThan(200);
  });
});

/** What Jenkins and Maven print for a build of which the last module does not compile. */
const MAVEN = [
  ' > git rev-parse --resolve-git-dir /builds/workspace/shop/.git # timeout=10',
  ' > git config remote.origin.url https://example.org/shop.git # timeout=10',
  ' > git config core.sparsecheckout # timeout=10',
  ...INDEXES.flatMap((i) => [
    '[INFO] ',
    `[INFO] --- maven-resources-plugin:3.2.${i % 3}:resources (default-resources) @ ${nameOf(i)} ---`,
    '[INFO] Using encoding UTF-8 to copy filtered resources.',
    `[INFO] Copying ${3 + (i % 4)} resources`,
    ...(i === 11 ? ['[INFO] Tests are skipped.', '[INFO] Deleting the old target'] : []),
    `[INFO] Building jar: /builds/workspace/shop/${nameOf(i)}/target/${nameOf(i)}.jar`,
  ]),
];
const ERROR = [
  '[ERROR] /builds/workspace/shop/src/main/java/Cart.java:[4,24] cannot access acme.Basket',
  '  bad class file: /builds/.m2/acme-9.2.jar(acme/Basket.class)',
  '    class file has wrong version 55.0, should be 52.0',
  '    Please remove or make sure it appears in the correct place.',
];
const REACTOR = [
  '[INFO] Reactor Summary for shop 1.0:',
  ...INDEXES.slice(0, 20).map((i) => `[INFO] ${nameOf(i)} ${'.'.repeat(30 - nameOf(i).length)} SUCCESS [  1.${i} s]`),
  `[INFO] gateway ${'.'.repeat(23)} SKIPPED`,
];

describe('the output of Maven', () => {
  const SYMBOL = [
    'src/Cart.java:4: error: cannot find symbol',
    '    Basket basket;',
    '    ^',
    '  symbol:   class Basket',
    '  location: class Cart',
  ];

  it.each([ERROR, SYMBOL])('keeps what javac says below an error: %s', (...error) => {
    const rules = rulesOf([...MAVEN, ...error, ...MAVEN], 'Which resources are copied?');
    expect(rules.slice(MAVEN.length, MAVEN.length + error.length)).toEqual(error.map(() => 'failure'));
  });

  it('takes no message and no repeated command for a row of states, but the results of modules', () => {
    const lines = [...MAVEN, ...REACTOR, ...MAVEN, 'Finished: FAILURE'];
    const rules = rulesOf(lines, 'Which version of the plug-in is used?');
    const states = lines.filter((_, i) => rules[i] === 'state');
    expect(states.filter((line) => /^\[INFO\] (?!.* \.{3})|^ > /.test(line))).toEqual([]);
    expect(states).toContain(REACTOR.at(-1));
  });
});
