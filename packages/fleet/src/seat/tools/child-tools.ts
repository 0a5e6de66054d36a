import { PrunerError } from 'mcp-pruner/errors/errors.ts';
import { invalidParams } from 'mcp-pruner/mcp/json-rpc.ts';
import { defineTool, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { Children } from '../../children/children.ts';
import { createInput, limitChanges, role, spawnInput } from '../../children/input.ts';
import type { Manifest } from '../../children/spec.ts';
import { hintFields, id } from '../../graph/input.ts';
import { ADDS, callerOf, ENDS, READS, SETS, STARTS } from './inputs.ts';

const family = { namespace: 'children', faces: ['rpc'] as const, flag: '--enable-children' };
const fine = { ...family, flag: '--enable-child-ops-fine' };

const brief = { run_id: hintFields.run_id, op_id: hintFields.op_id };

export function childTools(children: Children): Tool[] {
  return [
    defineTool({
      ...family,
      name: 'child_create',
      annotations: STARTS,
      summary: 'Start a child agent.',
      description:
        'Start a child: an agent by name (codex, claude, opencode, qwen, …) with a prompt, or a command by its absolute path ' +
        '(the prompt on stdin). Its model requests pass the proxy, where its limits hold (messages, tokens, wallclock_ms, ' +
        'memory_mb, cpu_percent). Returns its manifest; child_status waits for its end, logs_uri is its output.',
      input: createInput,
      run({ start, run_id, op_id, job_id, graph_id, node_id, ...input }, context) {
        const hints = { run_id, op_id, job_id, graph_id, node_id };
        return children.create({ ...input, start }, hints, callerOf(context));
      },
    }),
    defineTool({
      ...family,
      name: 'child_list',
      annotations: READS,
      summary: 'List child agents.',
      description:
        'List children, newest first; with state, only those in that state. Returns JSON: children (manifests).',
      input: z.strictObject({
        state: z
          .enum(['created', 'starting', 'running', 'stopping', 'terminated', 'error', 'killed', 'lost'])
          .optional(),
        limit: z.int().min(1).max(200).default(50),
      }),
      run: ({ state, limit }) => children.list(state, limit),
    }),
    defineTool({
      ...family,
      name: 'child_status',
      annotations: READS,
      summary: 'Show the state of a child.',
      description:
        'The manifest of a child: state, limits, usage, exit code. wait_ms (to 30000) waits until it has ended.',
      input: z.strictObject({ child_id: id, wait_ms: z.int().min(0).max(30_000).default(0) }),
      run: ({ child_id, wait_ms }, { signal }) => children.status(child_id, wait_ms, signal),
    }),
    ...endTools(children),
    ...fineTools(children),
  ];
}

function endTools(children: Children): Tool[] {
  return [
    defineTool({
      ...family,
      name: 'child_cancel',
      annotations: ENDS,
      summary: 'End a child.',
      description:
        'Ask a child and everything it started to end, kill them after timeout_ms, and answer when they are gone. reason is kept in its log.',
      input: z.strictObject({
        child_id: id,
        timeout_ms: z.int().min(0).max(60_000).optional(),
        reason: z.string().min(1).max(200).optional(),
      }),
      run: ({ child_id, timeout_ms, reason }) => children.cancel(child_id, timeout_ms, { why: reason }),
    }),
    defineTool({
      ...family,
      name: 'child_kill',
      annotations: ENDS,
      summary: 'End a child at once.',
      description: 'Kill a child and everything it started, without a grace period.',
      input: z.strictObject({ child_id: id }),
      run: ({ child_id }) => children.kill(child_id),
    }),
    defineTool({
      ...family,
      name: 'child_gc',
      annotations: ENDS,
      summary: 'Forget a child that has ended.',
      description: 'Remove the record of a child that has ended; its log stays for a while.',
      input: z.strictObject({ child_id: id }),
      run: ({ child_id }) => children.collect(child_id),
    }),
  ];
}

function fineTools(children: Children): Tool[] {
  return [
    defineTool({
      ...fine,
      name: 'child_spawn_codex',
      annotations: STARTS,
      summary: 'Start a child from its manifest file.',
      description:
        'Start the child of this id from a manifest file (JSON inside a child root: agent or command, prompt, limits, …), ' +
        'or as it was created before, if there is no such file. role and limits of the call override the file.',
      input: spawnInput,
      run: (input, context) => children.spawn(input, callerOf(context)),
    }),
    defineTool({
      ...fine,
      name: 'child_attach',
      annotations: ADDS,
      summary: 'Attach to a child.',
      description: 'Note that a caller follows this child (attached_at), for the run and operation named.',
      input: z.strictObject({ child_id: id, ...brief }),
      run: ({ child_id, ...hints }) => children.attach(child_id, hints),
    }),
    defineTool({
      ...fine,
      name: 'child_set_role',
      annotations: SETS,
      summary: 'Name the role of a child.',
      description: 'Set the role of a child.',
      input: z.strictObject({ child_id: id, role, ...brief }),
      run: ({ child_id, role: name, ...hints }) => children.setRole(child_id, name, hints),
    }),
    defineTool({
      ...fine,
      name: 'child_set_limits',
      annotations: SETS,
      summary: 'Change the limits of a child.',
      description:
        'Change limits of a child, in force at once: given keys replace, null resets one to its default, others stay.',
      input: z.strictObject({ child_id: id, limits: limitChanges, ...brief }),
      run: ({ child_id, limits: changes, ...hints }) => children.setLimits(child_id, changes, hints),
    }),
  ];
}

/**
 * @param spawn - the `child_spawn_codex` tool, with idempotency if enabled
 * @param dropReply - deletes the stored reply of a key
 */
export function childBatchTool(
  children: Children,
  spawn: Pick<Tool, 'call'>,
  isKeyed: boolean,
  dropReply: (key: string) => Promise<void>,
): Tool {
  const entry = isKeyed ? spawnInput.extend({ idempotency_key: z.string().min(1).max(256).optional() }) : spawnInput;
  return defineTool({
    ...fine,
    name: 'child_batch_create',
    annotations: STARTS,
    namespace: 'bulk',
    flag: '--enable-bulk',
    summary: 'Start many children, all or none.',
    description:
      'child_spawn_codex for 1 to 16 entries. When one fails, those that this call started are ended and forgotten. ' +
      'Returns JSON: children in order, created, idempotent_entries.',
    input: z.strictObject({ entries: z.array(entry).min(1).max(16) }),
    async run({ entries }, context) {
      const ids = entries.map(({ child_id }) => child_id);
      const twice = ids.findIndex((one, index) => ids.indexOf(one) !== index);
      if (twice >= 0) throw invalidParams({ field: `entries[${twice}].child_id`, message: 'this id occurs twice' });
      await children.checkRoom(entries.length);
      const started: { readonly childId: string; readonly key: string | undefined }[] = [];
      const manifests: (Manifest & { readonly idempotent?: boolean })[] = [];
      try {
        for (const one of entries) {
          const answer = JSON.parse(await spawn.call(one, context)) as Manifest & { readonly idempotent?: boolean };
          const key = 'idempotency_key' in one ? (one.idempotency_key as string | undefined) : undefined;
          if (answer.idempotent !== true) started.push({ childId: one.child_id, key });
          manifests.push(answer);
        }
      } catch (cause) {
        for (const { childId, key } of started) {
          await children.cancel(childId, undefined, { reason: 'rollback' }).catch(() => undefined); // the original error is rethrown
          await children.collect(childId).catch((why: unknown) => {
            if (!(why instanceof PrunerError)) throw why;
          });
          if (key !== undefined) await dropReply(key);
        }
        throw cause;
      }
      return { children: manifests, created: started.length, idempotent_entries: entries.length - started.length };
    },
  });
}
