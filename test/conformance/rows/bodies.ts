import { get, post, postText, refused, type Row } from '../../support/row.js';

const update = '/rest/Company?$method=update';
const body = '{"name":"M"}';
const made = { has: { __KEY: '6', name: 'M' } };
const nothingStored: Row['then'] = [[get('/rest/Company?$top=0'), { has: { __COUNT: 5 } }]];

const types = [
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  'text/plain;charset=UTF-8',
  'application/x-www-form-urlencoded',
  'application/octet-stream',
  'multipart/form-data; boundary=x',
  'text/html',
  'nonsense',
];

/** Protocol P1.9. */
export const bodyRows: readonly Row[] = [
  ...types.map((type) => ({
    id: `P1.9 type ${type}`,
    says: 'a JSON body is read under any content type',
    request: postText(update, body, { 'content-type': type }),
    expect: made,
  })),
  {
    id: 'P1.9 form',
    says: 'five characters may be percent-encoded in a form',
    request: postText(update, '{"name":"%21%27%28%29%2A%2a %41"}', {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
    }),
    expect: { has: { name: "!'()** %41" } },
  },
  {
    id: 'P1.9 form only',
    says: 'they are decoded only in a form',
    request: postText(update, '{"name":"%21"}', { 'content-type': 'application/json' }),
    expect: { has: { name: '%21' } },
  },
  {
    id: 'P1.9 BOM',
    says: 'a byte order mark is ignored',
    request: postText(update, `\ufeff${body}`),
    expect: made,
  },
  ...[undefined, 'application/json', 'text/plain'].map((type) => ({
    id: `P1.9 empty ${String(type)}`,
    says: 'an update without a body is refused',
    request: post(update, undefined, type === undefined ? {} : { 'content-type': type }),
    expect: refused(400, 1833),
    then: nothingStored,
  })),
  ...['{', '[{"name":"M"},', 'name=M', '{"name":"M"}{"name":"N"}', "{'name':'M'}"].map((text) => ({
    id: `not JSON ${text}`,
    says: 'a body that is not JSON changes nothing',
    request: postText(update, text),
    expect: refused(400, 1833),
    then: nothingStored,
  })),
  ...['1', '"x"', 'null', 'true', '[1]', '[{"name":"M"},null]', '[[{"name":"M"}]]'].map((text) => ({
    id: `no entity ${text}`,
    says: 'a body that is not an object or a list of objects changes nothing',
    request: postText(update, text),
    expect: refused(400, 1833),
    then: nothingStored,
  })),
  {
    id: 'P1.9 a body of a read',
    says: 'a body of a GET has no effect',
    request: { method: 'GET', url: '/rest/Company(1)/name', text: '{' },
    expect: { has: { name: 'Ärger' } },
  },
];
