import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { edition } from '../../src/edition.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { projectRoot } from '../helpers/project-files.ts';
import { startProxy } from '../helpers/proxy.ts';

const { rows } = edition.settings;

const text = (file: string): string => readFileSync(`${projectRoot}${file}`, 'utf8');
const known = new Set(rows.flatMap(({ setting }) => setting.env));

describe('the deployment files', () => {
  it.each(['docker-compose.yml', 'deploy/kubernetes.yaml', 'Dockerfile'])('set only known variables (%s)', (file) => {
    const named = [...text(file).matchAll(/\b(?:MCP_PRUNER|DEEPINFRA|KIMI)_[A-Z_]+\b/g)].map(([name]) => name);
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(['deploy/haproxy.cfg', 'deploy/kubernetes.yaml'])('probe /health/ready (%s)', (file) => {
    expect(text(file)).toContain('/health/ready');
  });

  it('use paths and the port of the server', async () => {
    const texts = ['docker-compose.yml', 'deploy/haproxy.cfg', 'deploy/prometheus.yml', 'deploy/kubernetes.yaml'].map(
      text,
    );
    const paths = new Set(
      texts.flatMap((one) => [...one.matchAll(/(?<=[\s:\d])\/health(?:\/\w+)?\b/g)].map(([path]) => path)),
    );
    expect([...paths].sort()).toEqual(['/health', '/health/live', '/health/ready']);
    const proxy = await startProxy(await startUpstream());
    for (const path of paths) expect([path, (await fetch(proxy.url + path)).status]).toEqual([path, 200]);
    const port = rows.find(({ setting }) => setting.env[0] === 'MCP_PRUNER_PORT')?.setting.fallback;
    for (const one of texts) expect(one).toContain(String(port));
  });

  it('give a stopping proxy more time than it needs to drain requests', () => {
    const drainMs = Number(
      rows.find(({ setting }) => setting.env[0] === 'MCP_PRUNER_DRAIN_TIMEOUT_MS')?.setting.fallback,
    );
    const [, kubernetes] = /terminationGracePeriodSeconds: (\d+)/.exec(text('deploy/kubernetes.yaml')) ?? [];
    const compose = [...text('docker-compose.yml').matchAll(/stop_grace_period: (\d+)s/g)].map(([, s]) => Number(s));
    for (const seconds of [Number(kubernetes), ...compose]) expect(seconds * 1000).toBeGreaterThan(drainMs);
    expect(compose).toHaveLength(2);
  });
});

/** What is looked at of the manifest's objects, as Kubernetes names it. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly minAvailable: number;
    readonly selector: Readonly<Record<string, unknown>> & { readonly matchLabels: Readonly<Record<string, string>> };
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string }[];
      };
    };
  };
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean };
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly startupProbe: Probe;
}

describe('the Kubernetes manifest', () => {
  const objects = parseAllDocuments(text('deploy/kubernetes.yaml')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Manifest;
  });
  const [deployment, service, budget] = objects as [Manifest, Manifest, Manifest];

  it('has a Deployment, a Service and a PodDisruptionBudget of stable APIs, all with one name', () => {
    expect(objects.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)).toEqual([
      'apps/v1 Deployment',
      'v1 Service',
      'policy/v1 PodDisruptionBudget',
    ]);
    expect(new Set(objects.map(({ metadata }) => metadata.name)).size).toBe(1);
  });

  it('selects the same pods in each object, and allows one pod at a time to be replaced', () => {
    const { labels } = deployment.spec.template.metadata;
    for (const selected of [
      deployment.spec.selector.matchLabels,
      service.spec.selector,
      budget.spec.selector.matchLabels,
    ]) {
      expect(labels).toMatchObject(selected);
      expect(Object.keys(selected).length).toBeGreaterThan(0);
    }
    expect(budget.spec.minAvailable).toBeLessThan(deployment.spec.replicas);
  });

  it('uses only declared ports and volumes, and served probe paths', () => {
    const { containers, volumes } = deployment.spec.template.spec;
    const [container] = containers;
    const ports = container.ports.map(({ name }) => name);
    for (const { targetPort } of service.spec.ports) expect(ports).toContain(targetPort);
    const paths = (['readinessProbe', 'livenessProbe', 'startupProbe'] as const).map((probe) => {
      expect(ports).toContain(container[probe].httpGet.port);
      return container[probe].httpGet.path;
    });
    expect(paths).toEqual(['/health/ready', '/health/live', '/health/live']);
    const names = volumes.map(({ name }) => name);
    for (const { name } of container.volumeMounts) expect(names).toContain(name);
    expect(container.securityContext.readOnlyRootFilesystem).toBe(true);
    expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining(['/data', '/tmp']));
  });
});

/** What is looked at of a service of the compose file. */
interface ComposeService {
  readonly profiles?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
}

describe('the compose file', () => {
  const compose = parse(text('docker-compose.yml'), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>;
    readonly volumes: Readonly<Record<string, unknown>>;
  };
  const services = Object.entries(compose.services);

  it('starts one server by default, and the team setup only by profile', () => {
    const of = (profile: boolean) => services.filter(([, { profiles }]) => (profiles !== undefined) === profile);
    expect(of(false).map(([name]) => name)).toEqual(['mcp-pruner']);
    expect(
      of(true)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['balancer', 'grafana', 'postgres', 'prometheus', 'proxy', 'sign-in']);
    for (const [name, { profiles }] of of(true)) expect(profiles).toEqual([name === 'sign-in' ? 'sign-in' : 'team']);
    expect(compose.services.proxy?.environment?.MCP_PRUNER_DATABASE_URL).toMatch(/^postgres:.*@postgres\//);
  });

  it('names existing volumes, files and services, and opens ports on loopback only', () => {
    for (const [, { depends_on = [], volumes = [], ports = [] }] of services) {
      for (const name of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)) {
        expect(Object.keys(compose.services)).toContain(name);
      }
      for (const volume of volumes) {
        const [from = ''] = volume.split(':');
        if (from.startsWith('./')) expect(text(from.slice(2))).not.toBe('');
        else expect(Object.keys(compose.volumes)).toContain(from);
      }
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });
});
