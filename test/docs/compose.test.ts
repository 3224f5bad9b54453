import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
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
const [block] = blocksOf('yml', guide);
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
