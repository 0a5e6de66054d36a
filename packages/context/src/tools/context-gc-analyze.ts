import { textHash } from 'mcp-pruner/core/hash.ts';
import type { SegmentType } from 'mcp-pruner/core/ports/segments.ts';
import { messageSegmentId } from 'mcp-pruner/core/segments/text-segments.ts';
import { isObject } from 'mcp-pruner/mcp/json-rpc.ts';
import { boundedList, defineTool, integer, shown, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { Analysis, DescribedSegment, RatedSegment } from '../analyze.ts';
import type { ContextGc, WithBound } from '../context-gc.ts';
import { projectId } from './context-gc.ts';

/** Maximum number of messages and segments in a caller's description. */
const MAX_MESSAGES = 200;
const MAX_DESCRIBED = 10_000;

const descriptors = z.looseObject({
  recent_messages: boundedList(z.unknown(), MAX_MESSAGES).nullish(),
  current_file: z.union([z.string(), z.looseObject({ path: z.string() })]).nullish(),
  token_usage: z.looseObject({}).nullish(),
  segment_summaries: boundedList(z.unknown(), MAX_DESCRIBED).nullish(),
  task_info: z.looseObject({}).nullish(),
});

const input = z.strictObject({
  context_descriptors: shown(descriptors.nullish(), {
    type: 'object',
    description:
      'Optional: recent_messages [{role, content}] and current_file {path} stay; token_usage {current, limit}, ' +
      'task_info {task_id}, segment_summaries [{segment_id, type, tokens, created_at}].',
  }),
  project_id: projectId,
  task_id: shown(z.string().max(200).nullish(), { type: 'string', description: 'Only its conversations.' }),
  target_tokens: shown(integer.min(0).nullish(), { type: 'integer', description: 'Tokens to free.' }),
});

type Input = z.infer<typeof input>;
type Descriptors = NonNullable<Input['context_descriptors']>;

/** `context_gc_analyze`: which segments may be pruned, and why. */
export function contextGcAnalyzeTool(gc: ContextGc): Tool {
  return defineTool({
    name: 'context_gc_analyze',
    namespace: 'context_gc',
    summary: 'List the parts of the conversation that can be pruned.',
    description:
      'Find parts of the conversation that can be pruned: score (higher: prune first), tokens, why; with target_tokens also a ' +
      'plan. Changes nothing: give segment_ids to context_gc_prune. Returns JSON: pruning_candidates, total_candidates, estimated_tokens_freed, pruning_plan.',
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input,
    async run(args) {
      const { project_id, target_tokens } = args;
      const about = args.context_descriptors ?? {};
      const task = args.task_id || textIn(about.task_info, ['task_id', 'id']);
      const analysis = await gc.analyze({
        project: project_id,
        task: task || undefined,
        target: typeof target_tokens === 'number' ? target_tokens : undefined,
        roots: { ...saidIn(about), file: fileIn(about) },
        described: describedIn(about),
      });
      return toWire(analysis, args);
    },
  });
}

function toWire(analysis: Analysis & WithBound, { project_id, target_tokens, context_descriptors }: Input): object {
  const { candidates, total, tokensFreed, plan } = analysis;
  const tooHigh = typeof target_tokens === 'number' && target_tokens > tokensFreed;
  const warnings = [
    ...(tooHigh
      ? [`target_tokens is ${target_tokens}, but only ${tokensFreed} can be freed; the plan frees all of it.`]
      : []),
    ...usageWarning(context_descriptors?.token_usage, tokensFreed),
  ];
  const allPinned = analysis.pinned > 0 && analysis.pinned + analysis.gone === analysis.segments;
  const message = messageFor(analysis, project_id);
  return {
    pruning_candidates: candidates.map(candidateToWire),
    total_candidates: total,
    estimated_tokens_freed: tokensFreed,
    pruning_plan: plan
      ? {
          segments: plan.segments.map(candidateToWire),
          estimated_tokens_freed: plan.tokensFreed,
        }
      : undefined,
    message: message || undefined,
    warning: warnings.join(' ') || undefined,
    error:
      allPinned && total === 0
        ? `All segments are pinned (${analysis.pinned}). Unpin some with context_gc_unpin.`
        : undefined,
  };
}

function candidateToWire({ id, score, tokens, reason, type, ageHours }: RatedSegment) {
  return { segment_id: id, score, tokens, reason, segment_type: type, age_hours: ageHours };
}

function messageFor(
  { segments, total, candidates, pinned, taskUnknown, bound }: Analysis & WithBound,
  project: string,
): string {
  const parts: string[] = [];
  if (segments === 0 && total === 0 && bound === 0) {
    parts.push(
      `No candidates: nothing of project ${JSON.stringify(project)} has been seen. Requests name their project in the ` +
        'header x-mcp-pruner-project; without it they belong to "default".',
    );
  } else if (total === 0 && segments > 0) {
    parts.push(
      'No candidates: every segment is pinned, already pruned, recent, the task itself, in use, or too small to be worth a marker.',
    );
  }
  if (total === 0 && pinned > 0) parts.push(`${pinned} pinned: context_gc_unpin makes them candidates again.`);
  if (bound > 0) {
    parts.push(
      `${bound} ${bound === 1 ? 'conversation is' : 'conversations are'} on a wire whose provider refuses changes to ` +
        "earlier messages, so no segment there can be pruned. The client's own compaction (/compact in " +
        'Claude Code) makes room there.',
    );
  }
  if (taskUnknown) parts.push('No request of that task was seen; the whole project was examined.');
  if (total > candidates.length) parts.push(`The ${candidates.length} candidates with the highest scores are listed.`);
  return parts.join(' ');
}

function usageWarning(usage: unknown, tokensFreed: number): string[] {
  if (!isObject(usage)) return [];
  const { current, limit } = usage;
  if (typeof current !== 'number' || typeof limit !== 'number' || current - tokensFreed <= limit) return [];
  return [
    `Even without all candidates, the context would exceed its limit by about ${Math.round(current - tokensFreed - limit)} tokens.`,
  ];
}

/** Ids and texts of the caller's newest messages. */
function saidIn({ recent_messages }: Descriptors): { ids: string[]; said: string[] } {
  const ids: string[] = [];
  const said: string[] = [];
  for (const message of recent_messages ?? []) {
    const fields = typeof message === 'string' ? { content: message } : message;
    if (!isObject(fields)) continue;
    const named = textIn(fields, ['segment_id']);
    if (named !== '') ids.push(named);
    const roles = typeof fields.role === 'string' ? [fields.role] : ['user', 'assistant'];
    for (const text of textsOf(fields.content)) {
      said.push(text);
      for (const role of roles) ids.push(messageSegmentId(role, textIn(fields, ['tool_call_id']), textHash(text)));
    }
  }
  return { ids, said };
}

/** Plain string content, or the text parts. */
function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown) => textIn(part, ['text']) || []);
}

function fileIn({ current_file }: Descriptors): string {
  return typeof current_file === 'string' ? current_file : textIn(current_file, ['path']);
}

const TYPES: readonly string[] = ['message', 'code', 'log', 'note', 'decision', 'summary'] satisfies SegmentType[];

function describedIn({ segment_summaries }: Descriptors): DescribedSegment[] {
  return (segment_summaries ?? []).flatMap((summary): DescribedSegment[] => {
    const id = textIn(summary, ['segment_id', 'id']);
    if (id === '' || !isObject(summary)) return [];
    const tokens = [summary.tokens, summary.token_count].find((value) => typeof value === 'number' && value > 0);
    const type = textIn(summary, ['type', 'segment_type']);
    const createdAtMs = Date.parse(textIn(summary, ['created_at', 'timestamp']));
    return [
      {
        id: id.slice(0, 200),
        type: isType(type) ? type : 'message',
        tokens: typeof tokens === 'number' ? tokens : 0,
        createdAtMs: Number.isNaN(createdAtMs) ? null : createdAtMs,
        path: textIn(summary, ['file_path', 'path']).slice(0, 500),
      },
    ];
  });
}

function isType(type: string): type is SegmentType {
  return TYPES.includes(type);
}

/** The first of these fields with a string value. */
function textIn(value: unknown, fields: readonly string[]): string {
  if (!isObject(value)) return '';
  for (const field of fields) {
    const text = value[field];
    if (typeof text === 'string') return text;
  }
  return '';
}
