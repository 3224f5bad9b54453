import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import {
  hasDecimalComma,
  separatorName,
  separatorOf,
} from '../../runtime/protocol/csv-separator.js';

// Records of files that may be larger than memory, one after the other.

export type Records = AsyncGenerator<ReadonlyMap<string, unknown>, void>;

type Fail = (reason: string) => never;

/** The longest record; longer ones are not what they seem to be. */
const longestRecord = 512 * 1024 * 1024;

/** The elements of a list of objects. */
export async function* jsonRecords(chunks: AsyncIterable<string>, fail: Fail): Records {
  let state: 'before' | 'between' | 'in' | 'after' = 'before';
  let depth = 0;
  let isText = false;
  let isEscaped = false;
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = state === 'in' ? 0 : -1;
    for (let at = 0; at < chunk.length; at += 1) {
      const unit = chunk.charCodeAt(at);
      if (state !== 'in') {
        if (unit <= 0x20 || unit === 0xfeff) continue;
        if (state === 'before' && unit === bracket) state = 'between';
        else if (state === 'between' && unit === closingBracket) state = 'after';
        else if (state === 'between' && unit === brace) {
          state = 'in';
          depth = 1;
          start = at;
        } else if (state !== 'between' || unit !== comma) fail('it is no list of JSON objects');
        continue;
      }
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (unit === backslash) isEscaped = true;
        else if (unit === quote) isText = false;
      } else if (unit === quote) isText = true;
      else if (unit === brace || unit === bracket) depth += 1;
      else if (unit === closingBrace || unit === closingBracket) {
        depth -= 1;
        if (depth > 0) continue;
        yield recordOf([...parts, chunk.slice(start, at + 1)].join(''), fail);
        parts = [];
        length = 0;
        start = -1;
        state = 'between';
      }
    }
    if (start >= 0) {
      parts.push(chunk.slice(start));
      length += chunk.length - start;
      if (length > longestRecord) fail('a record has more than 512 MiB');
    }
  }
  if (state !== 'after') fail('it is no list of JSON objects, or ends within it');
}

const [bracket, closingBracket, brace, closingBrace, quote, backslash, comma] = [
  0x5b, 0x5d, 0x7b, 0x7d, 0x22, 0x5c, 0x2c,
];

function recordOf(text: string, fail: Fail): ReadonlyMap<string, unknown> {
  try {
    return new Map(Object.entries(JSON.parse(text) as object));
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

/** Lines of RFC 4180, the first one with names. An empty field is null, and `""` an empty text. */
export async function* csvRecords(chunks: AsyncIterable<string>, fail: Fail): Records {
  let names: readonly string[] | undefined;
  let record = 0;
  const text = chunks[Symbol.asyncIterator]();
  const first = await text.next();
  const head = first.done === true ? '' : first.value;
  const separator = separatorOf(head);
  const rest = { [Symbol.asyncIterator]: () => text };
  for await (const fields of csvLines(whole(head, rest), separator, fail)) {
    record += 1;
    if (names === undefined) {
      names = fields.map((each) => each ?? '');
      if (new Set(names).size < names.length || names.includes('')) {
        fail('its first line must name each column, and none twice');
      }
      continue;
    }
    if (fields.length !== names.length) {
      fail(
        `record ${String(record)} has ${String(fields.length)} fields separated by ${separatorName(separator)}, and the first line ${String(names.length)}`,
      );
    }
    const values = fields.map((each) =>
      each !== null && hasDecimalComma(each, separator) ? new CommaNumber(each) : each,
    );
    yield new Map(names.map((name, at) => [name, values[at]]));
  }
}

type CsvLine = readonly (string | null)[];

async function* csvLines(
  chunks: AsyncIterable<string>,
  delimiter: string,
  fail: Fail,
): AsyncGenerator<CsvLine, void> {
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: longestRecord,
    cast: (field, { quoting }) => (field === '' && !quoting ? null : field),
  });
  // The iteration below gets the errors of both.
  pipeline(chunks, parser, () => undefined);
  try {
    yield* parser as AsyncIterable<CsvLine>;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const place = `line ${String(parser.info.lines)}`;
    fail(csvReasons[error.code] ?? `${place}: ${error.message}`);
  }
}

async function* whole(head: string, rest: AsyncIterable<string>): AsyncGenerator<string, void> {
  yield head;
  yield* rest;
}

const csvReasons: Readonly<Partial<Record<string, string>>> = {
  CSV_QUOTE_NOT_CLOSED: 'it ends within quotes',
  CSV_INVALID_CLOSING_QUOTE: 'a quote stands within a field that begins with one',
  CSV_MAX_RECORD_SIZE: 'a record has more than 512 MiB',
};

/** A number with a decimal comma, or a text that looks like one. */
export class CommaNumber {
  constructor(readonly text: string) {}
}

/** Bytes that an SQL export writes as `X'…'`. */
export class SqlBytes {
  constructor(readonly bytes: Uint8Array) {}
}

/** A file that an SQL export names: `INFILE 'path'`. */
export class SqlFile {
  constructor(readonly path: string) {}
}

/** The rows of `INSERT INTO [t] ([a], [b]) VALUES (…), (…);`. */
export async function* sqlRecords(chunks: AsyncIterable<string>, fail: Fail): Records {
  let names: string[] = [];
  let values: unknown[] = [];
  let state: 'start' | 'names' | 'values' | 'row' = 'start';
  let before = '';
  for await (const token of sqlTokens(chunks, fail)) {
    const word = token.kind === 'word' ? token.text.toUpperCase() : '';
    const sign = token.kind === 'sign' ? token.text : '';
    switch (state) {
      case 'start':
        if (
          word === 'INSERT' ||
          word === 'INTO' ||
          token.kind === 'name' ||
          (word !== '' && before === 'INTO')
        )
          break;
        if (sign === '(') {
          names = [];
          state = 'names';
        } else if (sign !== ';') fail(`it holds more than INSERT: ${token.text}`);
        break;
      case 'names':
        if (token.kind === 'name' || token.kind === 'word') {
          if (word === 'VALUES' && before === ')') state = 'values';
          else names.push(token.text);
        }
        break;
      case 'values':
        if (sign === '(') {
          values = [];
          state = 'row';
        } else if (sign === ';') state = 'start';
        break;
      case 'row':
        if (sign === ')') {
          if (values.length !== names.length) {
            fail(`a row has ${String(values.length)} values for ${String(names.length)} columns`);
          }
          yield new Map(names.map((name, at) => [name, values[at]]));
          state = 'values';
        } else if (token.kind === 'text') {
          if (before === 'X' && !/^(?:[\da-f]{2})*$/i.test(token.text)) {
            fail(`X'${token.text.slice(0, 20)}' must consist of pairs of hexadecimal digits`);
          }
          values.push(
            before === 'X'
              ? new SqlBytes(Buffer.from(token.text, 'hex'))
              : before === 'INFILE'
                ? new SqlFile(token.text)
                : token.text,
          );
        } else if (token.kind === 'word' && word !== 'X' && word !== 'INFILE') {
          values.push(sqlConstant(token.text, fail));
        }
    }
    before = word === '' ? sign : word;
  }
  if (state !== 'start') fail('it ends within a statement');
}

function sqlConstant(text: string, fail: Fail): unknown {
  switch (text.toUpperCase()) {
    case 'NULL':
      return null;
    case 'TRUE':
      return true;
    case 'FALSE':
      return false;
    default:
      return /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)
        ? text
        : fail(`unknown value ${text}`);
  }
}

interface SqlToken {
  readonly kind: 'word' | 'name' | 'text' | 'sign';
  readonly text: string;
}

async function* sqlTokens(
  chunks: AsyncIterable<string>,
  fail: Fail,
): AsyncGenerator<SqlToken, void> {
  let kind: SqlToken['kind'] | undefined;
  let text = '';
  /** A quote may be the end of a text, or the first of two. */
  let isAtQuote = false;
  for await (const chunk of chunks) {
    for (const character of chunk) {
      if (kind === 'text') {
        if (isAtQuote && character === "'") {
          text += character;
          isAtQuote = false;
          continue;
        }
        if (!isAtQuote) {
          if (character === "'") isAtQuote = true;
          else text += character;
          continue;
        }
        yield { kind, text };
        [kind, text, isAtQuote] = [undefined, '', false];
      } else if (kind === 'name') {
        if (character === ']') {
          yield { kind, text };
          [kind, text] = [undefined, ''];
        } else text += character;
        continue;
      } else if (kind === 'word') {
        if (/[\p{L}\p{N}_.+-]/u.test(character)) {
          text += character;
          continue;
        }
        yield { kind, text };
        [kind, text] = [undefined, ''];
      }
      if (character === "'") kind = 'text';
      else if (character === '[') kind = 'name';
      else if (/[\p{L}\p{N}_.+-]/u.test(character)) [kind, text] = ['word', character];
      else if (!/[\s\ufeff]/.test(character)) yield { kind: 'sign', text: character };
    }
  }
  if (kind === 'name' || (kind === 'text' && !isAtQuote)) fail('it ends within a text');
  if (kind !== undefined) yield { kind, text };
}
