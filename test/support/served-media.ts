import { readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { clientOf } from './cookies.js';
import { modelFile } from './model-file.js';
import { serverOf } from './server.js';

export type Response = Awaited<ReturnType<FastifyInstance['inject']>>;

export function mediaServer(environment: Record<string, string> = {}): Promise<FastifyInstance> {
  return serverOf(modelFile('staff'), { environment });
}

export async function upload(
  app: FastifyInstance,
  payload: Buffer | string,
  query = '',
  headers: Record<string, string> = {},
): Promise<Response> {
  return clientOf(app).send({ method: 'POST', url: `/rest/$upload${query}`, payload, headers });
}

/** Sends a file, which must be accepted. */
export async function idOf(
  app: FastifyInstance,
  payload: Buffer | string,
  query = '',
): Promise<string> {
  const response = await upload(app, payload, query);
  const { ID: id }: { readonly ID?: string } = response.json();
  if (id === undefined) throw new Error(response.body);
  return id;
}

export async function save(
  app: FastifyInstance,
  body: unknown,
  dataclass = 'Company',
): Promise<Response> {
  return clientOf(app).post(`/rest/${dataclass}?$method=update`, body);
}

/** The folders in which this process keeps uploads, and the sizes of their files. */
export function filesOnDisk(): readonly { readonly folder: string; readonly sizes: number[] }[] {
  return readdirSync(tmpdir())
    .filter((name) => name.startsWith('drs-uploads-') && name.includes(`-${process.pid}-`))
    .map((name) => {
      const folder = join(tmpdir(), name);
      const sizes = readdirSync(folder).map((file) => statSync(join(folder, file)).size);
      return { folder, sizes };
    });
}
