import { describe, expect, it } from 'vitest';
import { type RunEvent, RunLifecycle, type RunState } from '../src/run-states.ts';

const events: readonly RunEvent[] = [
  'disabled_by_config',
  'config_resolved',
  'config_invalid',
  'connected',
  'connect_failed',
  'server_failed',
  'phase_ended',
];

function follow(...happened: readonly RunEvent[]): { state: RunState; lines: string[] } {
  const lines: string[] = [];
  const run = new RunLifecycle(({ line }) => lines.push(line));
  for (const event of happened) run.on(event);
  return { state: run.state, lines };
}

describe('the pruner of a run', () => {
  it.each([
    [[], 'init'],
    [['disabled_by_config'], 'mcp_pruner_disabled'],
    [['config_invalid'], 'mcp_pruner_disabled'],
    [['config_resolved'], 'starting'],
    [['config_resolved', 'connected'], 'running'],
    [['config_resolved', 'connect_failed'], 'mcp_pruner_disabled'],
    [['config_resolved', 'connected', 'server_failed'], 'degraded'],
    [['config_resolved', 'connected', 'phase_ended'], 'shutdown'],
    [['config_resolved', 'connected', 'server_failed', 'phase_ended'], 'shutdown'],
    [['disabled_by_config', 'phase_ended'], 'shutdown'],
  ] as readonly [RunEvent[], RunState][])(
    'after %j is in the state %s, with one line for each event',
    (happened, state) => {
      const run = follow(...happened);
      expect(run.state).toBe(state);
      expect(run.lines).toHaveLength(happened.length);
    },
  );

  it('is disabled before shutdown if the agent ends before it connects', () => {
    const { state, lines } = follow('config_resolved', 'phase_ended');
    expect(state).toBe('shutdown');
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(/^run:starting -> run:mcp_pruner_disabled: /),
      expect.stringMatching(/^run:mcp_pruner_disabled -> run:shutdown: /),
    ]);
  });

  it.each([
    [['disabled_by_config'], ['phase_ended']],
    [['config_resolved', 'connected', 'server_failed'], ['phase_ended']],
    [['config_resolved', 'connected', 'phase_ended'], []],
  ] as readonly [RunEvent[], RunEvent[]][])('after %j changes state only on %j', (happened, meaningful) => {
    const { state } = follow(...happened);
    for (const event of events.filter((one) => !meaningful.includes(one))) {
      expect(follow(...happened, event)).toMatchObject({ state, lines: follow(...happened).lines });
    }
  });
});
