import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { compiledProgram } from '../support/processes/program.js';
import { Scratch } from '../support/processes/scratch.js';
import type { ServerProcess } from '../support/processes/server-process.js';
import { modelFile } from '../support/model-file.js';
import { writeServer } from '../support/server.js';
import { blocksOf, readDocument } from './guides.js';

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly volumes?: readonly string[];
  readonly configs?: readonly { readonly source: string }[];
  readonly healthcheck?: { readonly test: readonly string[] };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const guide = 'runtime/docs/operations.md';
const [block, manifest] = blocksOf('yml', guide);
const compose = parse(block?.text ?? '') as Compose;
const services = Object.entries(compose.services);
const servers = services.filter(([, { build }]) => build !== undefined);

describe('The compose file of the guide', () => {
  it('names only services, volumes and configurations that it has', () => {
    expect(servers.length).toBe(3);
    for (const [name, service] of services) {
      const { depends_on: needed = {}, volumes = [], configs = [] } = service;
      expect(Object.keys(compose.services), name).toEqual(
        expect.arrayContaining(Object.keys(needed)),
      );
      for (const dependency of Object.keys(needed)) {
        expect(compose.services[dependency]?.healthcheck, dependency).toBeDefined();
      }
      const named = volumes.map((each) => each.split(':')[0]);
      expect(Object.keys(compose.volumes), name).toEqual(expect.arrayContaining(named));
      const sources = configs.map(({ source }) => source);
      expect(Object.keys(compose.configs), name).toEqual(expect.arrayContaining(sources));
    }
  });

  it('sends requests to each of its servers, by the addresses of the guide', () => {
    const text = compose.configs['proxy']?.content ?? '';
    const upstreams = /reverse_proxy (.*) \{/.exec(text)?.[1]?.split(' ');
    expect(upstreams).toEqual(servers.map(([name]) => `${name}:8080`));
    expect(readDocument(guide)).toContain('`GET /health/ready`');
    for (const [, { healthcheck }] of servers) {
      expect(healthcheck?.test.join(' ')).toContain(':8080/health/ready');
    }
    expect(text).toContain('health_uri /health/ready');
  });

  it('sets variables that the guide describes, and the database that it starts', () => {
    const described = readDocument(guide);
    const { POSTGRES_USER: user, POSTGRES_DB: name } =
      compose.services['database']?.environment ?? {};
    for (const [, { environment = {} }] of servers) {
      for (const variable of Object.keys(environment)) {
        expect(described).toContain(`| \`${variable}\``);
      }
      const url = new URL((environment['DATABASE_URL'] ?? '').replace(/\$\{.*?\}/, 'secret'));
      expect([url.username, url.hostname, url.pathname]).toEqual([user, 'database', `/${name}`]);
    }
  });
});

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly failureThreshold?: number;
}

interface Container {
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}

interface Resource {
  readonly kind: string;
  readonly spec: {
    readonly selector: Readonly<Record<string, unknown>>;
    readonly ports?: readonly { readonly targetPort: string }[];
    readonly template?: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: { readonly runAsNonRoot: boolean };
        readonly containers: readonly Container[];
      };
    };
  };
}

describe('The Kubernetes manifest of the guide', () => {
  const documents = parseAllDocuments(manifest?.text ?? '');
  const [deployment, service] = documents.map((each) => each.toJS() as Resource);
  const pod = deployment?.spec.template;
  const [container] = pod?.spec.containers ?? [];
  const variable = (name: string): number =>
    Number(container?.env.find((each) => each.name === name)?.value);

  it('is a deployment and a service that selects its pods', () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    expect([deployment?.kind, service?.kind]).toEqual(['Deployment', 'Service']);
    expect(service?.spec.selector).toEqual(pod?.metadata.labels);
    expect(deployment?.spec.selector).toEqual({ matchLabels: pod?.metadata.labels });
    expect(container?.ports).toEqual([
      { name: 'http', containerPort: 8080 },
      { name: 'metrics', containerPort: variable('METRICS_PORT') },
    ]);
    expect(service?.spec.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });

  it('asks the addresses that the guide describes, and sets variables of the table', () => {
    const described = readDocument(guide);
    expect(container?.startupProbe.httpGet).toEqual({ path: '/health/live', port: 'http' });
    expect(container?.livenessProbe.httpGet).toEqual({ path: '/health/live', port: 'http' });
    expect(container?.readinessProbe.httpGet).toEqual({ path: '/health/ready', port: 'http' });
    for (const { name } of container?.env ?? []) expect(described).toContain(`| \`${name}\``);
  });

  it('waits until the service has left a pod out, and until its requests are answered', () => {
    const { periodSeconds = NaN, failureThreshold = NaN } = container?.readinessProbe ?? {};
    expect(variable('STOP_DELAY')).toBeGreaterThan(periodSeconds * failureThreshold);
    const grace = pod?.spec.terminationGracePeriodSeconds;
    expect(grace).toBeGreaterThanOrEqual(variable('STOP_DELAY') + 20);
    expect(pod?.spec.securityContext.runAsNonRoot).toBe(true);
  });
});

describe('The emitted Dockerfile', () => {
  const model = modelFile('people');
  const lines = readFileSync(join(writeServer(model), 'Dockerfile'), 'utf8').split('\n');
  let scratch: Scratch;
  let server: ServerProcess;

  beforeAll(async () => {
    scratch = new Scratch(compiledProgram(model));
    server = await scratch.start();
  });
  afterAll(() => scratch.remove());

  it('installs what the lock file says, and runs the server as another user than root', () => {
    expect(lines).toContain('RUN npm ci');
    const last = lines.lastIndexOf(lines.findLast((line) => line.startsWith('FROM ')) ?? '');
    expect(lines.indexOf('USER node')).toBeGreaterThan(last);
  });

  it('checks the health of the server with a command that succeeds only while it lives', async () => {
    const command = lines.find((line) => line.startsWith('  CMD ['))?.slice('  CMD '.length);
    const [program = '', ...args] = JSON.parse(command ?? '') as readonly string[];
    expect(program).toBe('node');
    const check = (): number | null =>
      spawnSync(process.execPath, args, {
        env: { PATH: process.env['PATH'], PORT: new URL(server.origin).port },
      }).status;
    expect(check()).toBe(0);
    server.child.kill('SIGKILL');
    await server.ended;
    expect(check()).toBe(1);
  });
});
