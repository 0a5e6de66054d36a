/** Options of `prune_text` that cut boldly, within ten seconds. */
export const PRUNE_OPTIONS = {
  max_prune_ratio: 0.9,
  min_keep_lines: 5,
  timeout_ms: 10_000,
  annotate_lines: false,
  include_markers: true,
};
