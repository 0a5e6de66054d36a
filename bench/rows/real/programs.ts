import type { RealListing } from './case.ts';

/** A folder of packages as npm installs them. */
const MODULES = `echo '{"name":"shop","version":"1.0.0","dependencies":{' > package.json
for i in $(upto 80); do mkdir -p node_modules/\${N[$i]}; echo "{\\"name\\":\\"\${N[$i]}\\",\\"version\\":\\"1.$i.0\\"}" > node_modules/\${N[$i]}/package.json; echo "\\"\${N[$i]}\\":\\"^1.0.0\\"," >> package.json; done
echo '"ledger":"^2.0.0"}}' >> package.json`;
const STANZA =
  "printf 'Package: %s\\nStatus: %s\\nPriority: optional\\nMaintainer: Ada <ada@example.org>\\nArchitecture: amd64\\nVersion: %s\\nDescription: %s\\n\\n'";
/** A database of packages. */
const PACKAGES = `mkdir -p d/updates d/info d/triggers; touch d/available
for i in $(upto 170); do ${STANZA} lib\${N[$i]} 'install ok installed' 2.$i-1 "library for \${N[$i]}"; done > d/status
${STANZA} nginx-core 'install ok half-configured' 1.24-2 'web server' >> d/status
${STANZA} mailer 'hold ok installed' 1.24-2 'mail relay' >> d/status`;
const TERRAFORM = `export TF_CLI_CONFIG_FILE=/dev/null CHECKPOINT_DISABLE=1`;

/** Listings of package managers, test runners, builds and clients of services. */
export const programListings: readonly RealListing[] = [
  {
    name: 'dpkg-list',
    held: false,
    needs: ['dpkg'],
    prepare: PACKAGES,
    command: 'dpkg -l',
    run: 'COLUMNS=120 dpkg --admindir=$PWD/d -l',
    goal: 'Is the machine up to date?',
    needed: /^(?:iF|hi) /,
    count: 2,
  },
  {
    name: 'dpkg-query',
    held: true,
    needs: ['dpkg-query'],
    prepare: PACKAGES,
    command: `dpkg-query -W -f='\${db:Status-Abbrev} \${binary:Package} \${Version}\\n'`,
    run: `dpkg-query --admindir=$PWD/d -W -f='\${db:Status-Abbrev} \${binary:Package} \${Version}\\n'`,
    goal: 'Is the machine up to date?',
    needed: /^(?:iF|hi) /,
    count: 2,
  },
  {
    name: 'npm-ls',
    held: false,
    needs: ['npm'],
    prepare: `${MODULES}; echo '{"name":"tax-tax-8","version":"3.0.0"}' > node_modules/\${N[8]}/package.json`,
    command: 'npm ls',
    goal: 'Are the packages installed?',
    needed: /^[├└].*(?:UNMET|invalid:)/,
    count: 2,
  },
  {
    name: 'pip-freeze',
    held: true,
    needs: ['pip'],
    prepare: `for i in $(upto 130); do d=p/\${N[$i]}-1.$i.dist-info; mkdir -p $d; printf 'Metadata-Version: 2.1\\nName: %s\\nVersion: 1.%s\\n' \${N[$i]} $i > $d/METADATA; touch $d/RECORD; done
echo '{"url":"https://example.org/relay.git","vcs_info":{"vcs":"git","commit_id":"3f786850e387550fdab836ed7e6dc881de23001b"}}' > p/\${N[70]}-1.70.dist-info/direct_url.json`,
    command: 'pip freeze --path p',
    goal: 'Which package is not from the index?',
    needed: / @ /,
    count: 1,
  },
  {
    name: 'node-coverage',
    held: false,
    needs: ['node'],
    prepare: `mkdir s; for i in $(upto 70); do echo "exports.f = (x) => x + $i;" > s/\${N[$i]}.js; echo "require('./s/\${N[$i]}.js').f(1);"; done > all.test.js
echo "exports.f = (x) => x;" > s/legacy.js; echo "require('./s/legacy.js');" >> all.test.js`,
    command: 'node --test --experimental-test-coverage',
    goal: 'Where is the coverage?',
    needed: /legacy\.js/,
    count: 1,
  },
  {
    name: 'node-tap',
    held: true,
    needs: ['node'],
    prepare: `{ echo "const { test } = require('node:test');"; for i in $(upto 90); do echo "test('\${N[$i]}', () => {});"; done
echo "test('refund twice', () => { throw new Error('balance is -3'); }); test('export', { skip: true }, () => {});"; } > a.test.js`,
    command: 'node --test --test-reporter=tap',
    goal: 'Run the tests',
    needed: /^\s*not ok .*refund|balance is -3|# SKIP/,
    count: 3,
  },
  {
    name: 'ctest',
    held: false,
    needs: ['cmake', 'ctest'],
    prepare: `{ echo 'cmake_minimum_required(VERSION 3.10)'; echo 'project(shop NONE)'; echo 'enable_testing()'; for i in $(upto 60); do c=true; [ $i = 31 ] && c=false; echo "add_test(NAME \${N[$i]} COMMAND $c)"; done; } > CMakeLists.txt; cmake -S . -B b`,
    command: 'ctest --test-dir b',
    goal: 'Run the tests',
    needed: /\*\*\*Failed|\(Failed\)/,
    count: 2,
  },
  {
    name: 'prove',
    held: true,
    needs: ['prove'],
    prepare: `mkdir t; for i in $(upto 80); do printf 'print "1..2\\nok 1\\nok 2\\n";' > t/\${N[$i]}.t; done; printf 'print "1..2\\nok 1\\nnot ok 2 - sum\\n";' > t/\${N[40]}.t`,
    command: 'prove t',
    goal: 'Run the tests',
    needed: /Failed 1\/2|Wstat|^Result/,
    count: 3,
  },
  {
    name: 'pytest',
    held: false,
    needs: ['pytest'],
    prepare: `{ echo 'import pytest'; for i in $(upto 110); do n=\${N[$i]}; echo "def test_\${n//-/_}(): pass"; done; echo 'def test_refund(): assert 2 == 3'; echo '@pytest.mark.xfail'; echo 'def test_strict(): pass'; } > test_shop.py`,
    command: 'pytest -v',
    run: 'pytest -v -p no:cacheprovider',
    goal: 'Run the tests',
    needed: /test_refund FAILED|XPASS|^FAILED/,
    count: 3,
  },
  {
    name: 'unittest',
    held: true,
    needs: ['python3'],
    prepare: `{ echo 'import unittest'; echo 'class Shop(unittest.TestCase):'; for i in $(upto 110); do n=\${N[$i]}; echo "  def test_\${n//-/_}(self): pass"; done; echo '  def test_refund(self): self.missing()'; echo '  @unittest.expectedFailure'; echo '  def test_strict(self): pass'; } > test_shop.py`,
    command: 'python3 -m unittest -v',
    goal: 'Run the tests',
    needed: /\.\.\. (?:ERROR|unexpected success)/,
    count: 2,
  },
  {
    name: 'rust-tests',
    held: false,
    needs: ['rustc'],
    prepare: `for i in $(upto 100); do n=\${N[$i]}; echo "#[test] fn \${n//-/_}() {}"; done > t.rs; echo '#[test] fn refund() { assert_eq!(2, 3); } #[test] #[ignore] fn slow() {}' >> t.rs; rustc --test -o t t.rs`,
    command: './t',
    goal: 'Run the tests',
    needed: /^test (?:refund|slow) |^test result/,
    count: 3,
  },
  {
    name: 'compileall',
    held: true,
    needs: ['python3'],
    prepare: `mkdir s; for i in $(upto 110); do echo 'x = 1' > s/\${N[$i]}.py; done; echo 'def f(:' > s/\${N[61]}.py`,
    command: 'python3 -m compileall s',
    goal: 'Does everything compile?',
    needed: /\*\*\* |SyntaxError/,
    count: 2,
  },
  {
    name: 'make-keep-going',
    held: false,
    needs: ['make', 'gcc'],
    prepare: `for i in $(upto 70); do echo "int f$i(void){return $i;}" > \${N[$i]}.c; done; echo 'int f(void){return missing;}' > \${N[35]}.c
{ echo "all: $(for i in $(upto 70); do printf '%s ' \${N[$i]}.o; done)"; printf '%%.o: %%.c\\n\\tgcc -c -O1 -Wall -Iinclude -o $@ $<\\n'; } > Makefile`,
    command: 'make -k',
    goal: 'Build it',
    needed: /error: |Error 1|not remade/,
    count: 3,
  },
  {
    name: 'ninja-keep-going',
    held: true,
    needs: ['ninja'],
    prepare: `{ echo 'rule c'; echo '  command = $cmd'; echo '  description = CC obj/$out'; for i in $(upto 110); do c='true'; [ $i = 57 ] && c='echo "cc: undefined reference"; false'; echo "build \${N[$i]}.o: c"; echo "  cmd = $c"; done; } > build.ninja`,
    command: 'ninja -k 0 -v',
    run: 'ninja -k 0 | cat',
    goal: 'Build it',
    needed: /^FAILED|^ninja: /,
    count: 2,
  },
  {
    name: 'perl-check',
    held: true,
    needs: ['perl'],
    prepare: `mkdir s; for i in $(upto 120); do echo 'print 1;' > s/\${N[$i]}.pl; done; echo 'print 1 +;' > s/\${N[61]}.pl`,
    command: 'for f in s/*.pl; do perl -c $f; done',
    goal: 'Does everything compile?',
    needed: /syntax error|compilation errors/,
    count: 2,
  },
  {
    name: 'terraform-plan',
    held: false,
    needs: ['terraform'],
    prepare: `${TERRAFORM}; for i in $(upto 30); do printf 'resource "terraform_data" "%s" {\\n  input = "%s"\\n}\\n' \${N[$i]} $i; done > m.tf
printf 'resource "terraform_data" "ledger" {\\n  triggers_replace = "1"\\n}\\n' >> m.tf; terraform init; terraform apply -auto-approve
sed -i 's/replace = "1"/replace = "2"/; s/input = "\\(.*\\)"/input = "v\\1"/' m.tf`,
    command: 'terraform plan -no-color',
    run: `${TERRAFORM}; terraform plan -no-color`,
    goal: 'Is the change safe?',
    needed: /must be replaced|^-\/\+ resource|forces replacement|^Plan:/,
    count: 3,
  },
  {
    name: 'terraform-apply',
    held: true,
    needs: ['terraform'],
    prepare: `${TERRAFORM}; for i in $(upto 40); do printf 'resource "terraform_data" "%s" {\\n  input = "%s"\\n}\\n' \${N[$i]} $i; done > m.tf
printf 'resource "terraform_data" "ledger" {\\n  provisioner "local-exec" {\\n    command = "exit 3"\\n  }\\n}\\n' >> m.tf; terraform init`,
    command: 'terraform apply -auto-approve -no-color',
    run: `${TERRAFORM}; terraform apply -auto-approve -no-color`,
    goal: 'Apply the change',
    needed: /Error: |exit status 3/,
    count: 2,
  },
  {
    name: 'kubectl-contexts',
    held: true,
    needs: ['kubectl'],
    prepare: `export KUBECONFIG=$PWD/k; for i in $(upto 60); do kubectl config set-context \${N[$i]} --cluster=\${N[$i]}.example.org --user=deploy --namespace=shop; done; kubectl config use-context \${N[24]}`,
    command: 'kubectl config get-contexts',
    run: 'KUBECONFIG=$PWD/k kubectl config get-contexts',
    goal: 'Which cluster is this?',
    needed: /^\*/,
    count: 1,
  },
  {
    name: 'jq-tsv',
    held: true,
    needs: ['jq'],
    prepare: `{ echo '['; for i in $(upto 120); do s=up; [ $i = 66 ] && s=flapping; echo "{\\"name\\":\\"\${N[$i]}\\",\\"zone\\":\\"eu-$((i%3))\\",\\"state\\":\\"$s\\",\\"port\\":$((8000+i))},"; done; echo '{"name":"last","zone":"eu-1","state":"up","port":9000}]'; } > s.json`,
    command: "jq -r '.[] | [.name, .zone, .state, .port] | @tsv' s.json",
    goal: 'How are the services?',
    needed: /flapping/,
    count: 1,
  },
];
