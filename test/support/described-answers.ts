import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';
import { errorCodes } from '../../runtime/protocol/errors.js';
import type { Request } from './row.js';

type Answer = Awaited<ReturnType<FastifyInstance['inject']>>;
type Content = Readonly<Record<string, object>>;

interface Described {
  readonly description?: string;
  readonly content?: Content;
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Described & { readonly $ref?: string }>>;
}

/** The parts of an OpenAPI document that tests read. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<'get' | 'post', Operation>>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Described>> };
}

/** A document, prepared to judge answers. */
class Judge {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: false });
  readonly #document: Document;
  readonly #addresses: readonly (readonly [pattern: RegExp, path: string])[];
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(text: string) {
    this.#document = JSON.parse(text) as Document;
    this.#ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/);
    this.#ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    this.#ajv.addFormat('binary', true);
    this.#ajv.addSchema(this.#document, 'document');
    const holes = (path: string): number => path.split('{').length;
    this.#addresses = Object.keys(this.#document.paths)
      .sort((a, b) => holes(a) - holes(b) || b.length - a.length)
      .map((path) => [patternOf(path), path]);
  }

  /** Expects that the document describes the answer. */
  expectDescribed({ method, url }: Request, answer: Answer): void {
    const { statusCode, headers, body } = answer;
    const verb = method === 'POST' ? 'post' : 'get';
    const path = this.#addresses.find(
      ([pattern, each]) => pattern.test(addressOf(url)) && this.#document.paths[each]?.[verb],
    )?.[1];
    const isKnownVerb = method === 'GET' || method === 'POST';
    if (!isKnownVerb || path === undefined) {
      // What the document does not describe is refused.
      if (method !== 'HEAD')
        expect(statusCode, `${method} ${url} is not described`).toBeGreaterThan(399);
      return;
    }
    const operation = this.#document.paths[path]?.[verb];
    const shown = `${method} ${url}: ${operation?.operationId ?? ''} ${statusCode}`;
    const kinds = [String(statusCode), `${Math.floor(statusCode / 100)}XX`, 'default'];
    const status = kinds.find((each) => operation?.responses[each] !== undefined) ?? '';
    if (status === 'default') expect(statusCode, `${shown} is no error`).toBeGreaterThan(399);
    if (answer.rawPayload.length === 0) return;
    if (status !== String(statusCode)) this.#expectListed(answer, shown);
    const given = operation?.responses[status];
    const name = given?.$ref?.split('/').at(-1);
    const pointer =
      name === undefined
        ? `/paths/${escaped(path)}/${verb}/responses/${status}`
        : `/components/responses/${name}`;
    const described = name === undefined ? given : this.#document.components.responses[name];
    const type = String(headers['content-type']).split(';')[0] ?? '';
    const media = mediaOf(described?.content ?? {}, type);
    expect(media, `${shown} has the type ${type}`).toBeDefined();
    if (type !== 'application/json' || media === undefined) return;
    const validate = this.#validator(`${pointer}/content/${escaped(media)}/schema`);
    const isValid = validate(JSON.parse(body));
    expect(isValid, `${shown} ${JSON.stringify(validate.errors)} ${body.slice(0, 2000)}`).toBe(
      true,
    );
  }

  /** Expects that the document lists the status of an error; code of a server may use others. */
  #expectListed({ statusCode, body }: Answer, shown: string): void {
    const { __ERROR: errors = [] } = JSON.parse(body) as {
      readonly __ERROR?: readonly { readonly errCode: number }[];
    };
    if (!errors.some(({ errCode }) => protocolCodes.has(errCode))) return;
    const { description } = this.#document.components.responses['rest.Error'] ?? {};
    expect(description, shown).toContain(` ${statusCode} `);
  }

  #validator(pointer: string): ValidateFunction {
    let known = this.#validators.get(pointer);
    if (known === undefined) {
      known = this.#ajv.compile({ $ref: `document#${pointer}` });
      this.#validators.set(pointer, known);
    }
    return known;
  }
}

const protocolCodes: ReadonlySet<number> = new Set(
  Object.values(errorCodes).map(({ code }) => code),
);

/** As a fragment of a URI. */
function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function mediaOf(content: Content, type: string): string | undefined {
  const [kind = ''] = type.split('/');
  return [type, `${kind}/*`, '*/*'].find((each) => each in content);
}

function patternOf(path: string): RegExp {
  const source = decodeURIComponent(path)
    .split(/(\{[a-z]+\})/)
    .map((each, index) => {
      if (index % 2 === 0) return each.replace(/[$()*+.?[\]^{|}\\]/g, '\\$&');
      return each === '{dataclass}' ? '[^$/(:]+' : '.+';
    })
    .join('');
  return new RegExp(`^${source}$`, 'su');
}

/** An address in the spelling of the document (protocol P1.2). */
function addressOf(url: string): string {
  const [path = ''] = url.split('?');
  const plain = path.replaceAll('+', ' ').replace(/%(?![0-9a-f]{2})/gi, '%25');
  return safelyDecoded(plain)
    .replace(/^(\/rest\/[^/[(]+)\[(.*?)\]/, '$1($2)')
    .replace(/\/$/, '');
}

function safelyDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const judges = new Map<string, Judge>();
const texts = new WeakMap<FastifyInstance, Map<string, string>>();

/** Expects that the document that the server gives to the same session describes the answer. */
export async function expectDescribed(
  app: FastifyInstance,
  request: Request,
  answer: Answer,
): Promise<void> {
  const text = await documentOf(app, request.headers ?? {});
  const judge = judges.get(text) ?? new Judge(text);
  judges.set(text, judge);
  judge.expectDescribed(request, answer);
}

async function documentOf(
  app: FastifyInstance,
  { cookie = '' }: Readonly<Record<string, string>>,
): Promise<string> {
  const known = texts.get(app) ?? new Map<string, string>();
  texts.set(app, known);
  let text = known.get(cookie);
  if (text === undefined) {
    const { body, statusCode } = await app.inject({
      method: 'GET',
      url: '/rest/$openapi',
      ...(cookie === '' ? {} : { headers: { cookie } }),
    });
    expect(statusCode, body).toBe(200);
    text = body;
    known.set(cookie, text);
  }
  return text;
}
