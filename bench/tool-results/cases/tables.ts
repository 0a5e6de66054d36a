import type { ToolResultCase } from '../case.ts';
import { RECORDS } from './json.ts';

const kind = 'table';

const COLUMNS = 'const columns = Object.keys(records[0])';

export const tables: readonly ToolResultCase[] = [
  {
    name: 'csv-packages',
    kind,
    goal: 'Which licence and version has lightningcss in the export?',
    hints: { origin: 'read', path: 'export/packages.csv' },
    fragments: ['name,version,license,engines,dependencies,bytes', 'lightningcss,'],
    make: (shop) =>
      shop.sh(
        `node -e '${RECORDS}; ${COLUMNS}; console.log([columns, ...records.map((r) => columns.map((c) => r[c] ?? ""))].map((row) => row.join(",")).join("\\n"))'`,
        shop.modules,
      ),
  },
  {
    name: 'markdown-table-packages',
    kind,
    goal: 'Welche Node-Version verlangt jose laut der Tabelle der Abhängigkeiten (engines of jose)?',
    hints: { origin: 'read', path: 'docs/dependencies.md' },
    fragments: ['| name | version | license |', '| jose |'],
    make: (shop) =>
      shop.sh(
        `node -e '${RECORDS}; ${COLUMNS}; const line = (cells) => "| " + cells.join(" | ") + " |"; console.log("# Dependencies\\n\\nWhat the build pulls in.\\n\\n" + [line(columns), line(columns.map(() => "---")), ...records.map((r) => line(columns.map((c) => r[c] ?? "")))].join("\\n"))'`,
        shop.modules,
      ),
  },
  {
    name: 'tsv-file-sizes',
    kind,
    goal: 'How large is the README.md of pino compared with the others?',
    hints: { origin: 'command', command: 'python3 sizes.py --tsv' },
    fragments: ['bytes\tlines\tpath', '\tpino/README.md'],
    make: (shop) => {
      shop.need('python3');
      const program =
        "import glob\nprint('bytes\\tlines\\tpath')\nfor p in sorted(glob.glob('*/*.md')):\n    b = open(p, 'rb').read()\n    print('%d\\t%d\\t%s' % (len(b), b.count(10), p))";
      return shop.sh(`python3 -c "${program}"`, shop.modules);
    },
  },
];
