import picomatch from 'picomatch';
import { fittedToHeap } from '../base/fitted-to-heap.ts';
import type { ProjectBook } from '../config/project-book.ts';
import { pruningSettings } from '../config/settings/pruning.ts';
import type { Settings } from '../config/settings.ts';
import { DecisionCache } from '../core/decide/decision-cache.ts';
import { type Decider, DecisionMaker } from '../core/decide/decision-maker.ts';
import type { Clock, LineScorer, Store } from '../core/ports.ts';
import type { FindSettings } from '../core/request/found-text.ts';
import { RequestPipeline } from '../core/request/pipeline.ts';
import type { PipelineOptions } from '../core/request/pipeline-options.ts';

/** Share of `memoMaxBytes` for decisions; the rest is for remembered bodies. */
const DECISIONS_SHARE = 1 / 32;

/** The shared decision cache of requests and tool calls. */
export function decisionCacheOf(settings: Settings, store: Store, clock: Clock, decider?: Decider): DecisionCache {
  return new DecisionCache({
    store,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    memoBytes: fittedToHeap(settings.memoMaxBytes) * DECISIONS_SHARE,
    decider,
  });
}

/** Options of the pipeline, but for those that follow from the settings. */
export interface RewriterParts extends Omit<PipelineOptions, 'decisions' | 'find' | 'render' | 'memoBytes'> {
  readonly decisionCache: DecisionCache;
  readonly scorer?: LineScorer | undefined;
  /** Program that markers name to agents without `recover_text`; `mcp-pruner` where it is absent. */
  readonly recoverCommand?: string;
}

/** Tools whose results are never pruned. Anthropic's memory tool: its notes must be read unchanged. */
const ALWAYS_WHOLE = ['memory'];

/** The request pipeline as configured. */
export function rewriterOf(settings: Settings, parts: RewriterParts): RequestPipeline {
  const { decisionCache, scorer, recoverCommand, ...options } = parts;
  return new RequestPipeline({
    ...options,
    decisions: new DecisionMaker({ decisionCache, timeoutMs: settings.timeoutMs, scorer }),
    find: { ...findSettingsOf(settings), recoverCommand },
    render: {
      annotateLines: settings.annotateLines,
      includeMarkers: settings.includeMarkers !== false,
      shortMarkers: settings.includeMarkers !== 'full',
    },
    memoBytes: fittedToHeap(settings.memoMaxBytes) * (1 - DECISIONS_SHARE),
  });
}

/** Minimum size of logs, test runs and listings printed by a command. Unit: characters. */
const MIN_OUTPUT_CHARS = 1000;

/** The settings that select texts. */
export function findSettingsOf(settings: Settings): FindSettings {
  const { minPruneChars } = settings;
  return {
    minPruneChars,
    // a raised minimum also applies to command output
    minOutputChars: minPruneChars > pruningSettings.minPruneChars.fallback ? minPruneChars : MIN_OUTPUT_CHARS,
    maxInputChars: settings.maxInputChars,
    limits: { maxPruneRatio: settings.maxPruneRatio, minKeepLines: settings.minKeepLines },
    repeats: settings.repeats,
    reasonLanguage: settings.reasonLanguage,
    neverPruneTool: globs([...ALWAYS_WHOLE, ...settings.neverPruneTools]),
    neverPrunePath: globs(settings.neverPrunePaths),
  };
}

/** Like `findSettingsOf`, per project; `usual` for projects without their own globs and language. */
export function findSettingsBy(book: ProjectBook, settings: Settings): NonNullable<RewriterParts['findOf']> {
  const known = new WeakMap<Settings, FindSettings>();
  return (project, usual) => {
    const own = book.settingsOf(project);
    if (own === settings) return usual;
    const found = known.get(own) ?? { ...findSettingsOf(own), recoverCommand: usual.recoverCommand };
    known.set(own, found);
    return found;
  };
}

export function globs(patterns: readonly string[]): (name: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true, basename: false });
}
