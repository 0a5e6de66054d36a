import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { rows } from '../../src/config/settings.ts';
import { projectRoot } from '../helpers/project-files.ts';

const text = (file: string): string => readFileSync(`${projectRoot}${file}`, 'utf8');
const known = new Set(rows.flatMap(({ setting }) => setting.env));

describe('what is started elsewhere', () => {
  it.each(['docker-compose.yml', 'deploy/kubernetes.yaml', 'Dockerfile'])(
    'sets nothing that is unknown (%s)',
    (file) => {
      const named = [...text(file).matchAll(/\b(?:MCP_PRUNER|DEEPINFRA|KIMI)_[A-Z_]+\b/g)].map(([name]) => name);
      expect(named.length).toBeGreaterThan(2);
      expect(named.filter((name) => !known.has(name))).toEqual([]);
    },
  );

  it.each(['config/haproxy.cfg', 'deploy/kubernetes.yaml'])(
    'asks whether a proxy is ready, not how it feels (%s)',
    (file) => {
      expect(text(file)).toContain('/health/ready');
    },
  );

  it('gives a proxy that stops more time than it takes to drain', () => {
    const drainMs = Number(
      rows.find(({ setting }) => setting.env[0] === 'MCP_PRUNER_DRAIN_TIMEOUT_MS')?.setting.fallback,
    );
    const [, kubernetes] = /terminationGracePeriodSeconds: (\d+)/.exec(text('deploy/kubernetes.yaml')) ?? [];
    const compose = [...text('docker-compose.yml').matchAll(/stop_grace_period: (\d+)s/g)].map(([, s]) => Number(s));
    for (const seconds of [Number(kubernetes), ...compose]) expect(seconds * 1000).toBeGreaterThan(drainMs);
    expect(compose).toHaveLength(2);
  });
});
