import { contentOf, type View } from '../../text/view.ts';

/**
 * Longer texts are sampled with this many to twice as many lines. Set by hand: accurate to a few percent at constant
 * cost.
 */
const SAMPLED_LINES = 240;
const READ_CHARS = 200;

const LANGUAGES: readonly (readonly [string, RegExp])[] = [
  [
    'python',
    /^\s*(?:def \w+\(.*:$|class \w+.*:$|from \S+ import |import \w+$|(?:if|elif|for|while|with|except) .*:$|(?:else|try):$|@\w+|raise \w|return self\b|self\.\w+ =|"""$)/,
  ],
  ['rust', /^\s*(?:pub |fn \w|impl\b|let mut |use \w+(?:::|;)|#\[)/],
  ['go', /^(?:package \w+$|func |import \(|type \w+ (?:struct|interface))|\s:= /],
  ['java', /^\s*(?:import (?:static )?[\w.]+;|package [\w.]+;|(?:public|private|protected) .*[{;]$|@Override)/],
  ['c', /^\s*(?:#\s*(?:include|define|if|endif|ifdef)\b|(?:static|struct|void|int|char|unsigned|size_t) .*[;{)]$)/],
  ['typescript', /^\s*(?:import .* from ['"]|export (?:type|interface|const|function|class)|(?:const|let) \w+: )/],
  ['javascript', /^\s*(?:(?:const|let|var) .*=|function\b|module\.exports|import .* from)|=> \{?$/],
  ['ruby', /^\s*(?:end$|def \w+[^:]*$|require ['"]|module \w+$)/],
  ['php', /^<\?php|^\s*(?:\$\w+ =|public function|namespace \w)/],
  ['shell', /^(?:#!.*sh$|\s*(?:fi|done|esac|then)$|\s*(?:if|while) \[)/],
  ['sql', /^\s*(?:SELECT|INSERT|CREATE|UPDATE|ALTER|DROP|FROM|WHERE)\b/i],
  ['html', /^\s*<\/?[a-zA-Z][^>]*>/],
  ['css', /^[.#@]?[\w-].*\{$|^\s+[\w-]+: [^;]+;$/],
  ['yaml', /^\s*(?:- )?[\w./-]+:(?: \S.*)?$/],
  ['toml', /^\[[\w.-]+\]$|^\w+ = /],
];

/** The language that matches most of the sampled lines, or `code`. */
export function languageName(view: View): string {
  const counts = LANGUAGES.map(() => 0);
  const step = Math.max(1, Math.floor(view.n / SAMPLED_LINES));
  for (let i = 0; i < view.n; i += step) {
    const line = contentOf(view, i, READ_CHARS);
    LANGUAGES.forEach(([, rule], k) => {
      if (rule.test(line)) counts[k] = (counts[k] ?? 0) + 1;
    });
  }
  let best = -1;
  counts.forEach((count, k) => {
    if (count > 0 && (best < 0 || count > (counts[best] ?? 0))) best = k;
  });
  return LANGUAGES[best]?.[0] ?? 'code';
}
