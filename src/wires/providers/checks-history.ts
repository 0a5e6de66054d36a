/** Whether models of the responses wire check that the items before their reasoning are unchanged. */
interface ModelRow {
  /** Matches model names without the provider's prefix. */
  readonly models: RegExp;
  readonly checks: boolean;
  /** Source of this fact, and the day on which it was checked. */
  readonly source: string;
  readonly day: string;
}

const GUIDE = "OpenAI's guide to reasoning models, and `input_transformations` in the npm package openai 7.56";

/** The first matching row applies. */
const ROWS: readonly ModelRow[] = [
  { models: /^gpt-4/, checks: false, source: GUIDE, day: '2026-11-20' },
  { models: /^o\d/, checks: false, source: GUIDE, day: '2026-11-20' },
  { models: /^gpt-5(?!\d)/, checks: false, source: GUIDE, day: '2026-11-20' },
  { models: /^gpt-6(?:$|-|\.1(?!\d))/, checks: false, source: GUIDE, day: '2026-11-20' },
  { models: /^gpt-6\.(?:[2-9]|\d\d)/, checks: true, source: GUIDE, day: '2026-11-20' },
];

/**
 * Whether a model of the responses wire drops reasoning after a changed item. An unknown model counts as checking.
 *
 * @param model - name in the request, with or without a gateway's prefix (`openai/gpt-6.2`)
 */
export function checksHistory(model: string): boolean {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  return ROWS.find(({ models }) => models.test(name))?.checks ?? true;
}
