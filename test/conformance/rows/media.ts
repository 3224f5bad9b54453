import { brochure, logo } from '../../support/staff-fixture.js';
import { type Expectation, get, post, postText, refused, type Row } from '../../support/row.js';

const image = '/rest/Company(1)/logo';
const blob = '/rest/Company(1)/brochure';
const unknown = '0123456789ABCDEF0123456789ABCDEF';
const update = '/rest/Company?$method=update';
const headers = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
} as const;
const png: Expectation = { bytes: logo, headers: { ...headers, 'content-type': 'image/png' } };
const nothing: Expectation = { bytes: '', headers: { ...headers, 'content-type': undefined } };

function read(id: string, says: string, url: string, expect: Expectation): Row {
  return { id, says, request: get(url), expect };
}

/** Protocol P10.1 to P10.4, P10.9, P10.10, P10.15. */
export const mediaRows: readonly Row[] = [
  read('P10.1', 'the content of an image', `${image}?$imageformat=best&$version=1&$expand=logo`, {
    ...png,
    headers: { ...png.headers, 'cache-control': 'private, max-age=31536000' },
  }),
  read(
    'P10.1 JSON',
    'without $expand the entity is sent',
    `${image}?$imageformat=best&$version=1`,
    {
      has: { __KEY: '1', logo: { __deferred: { image: true } } },
    },
  ),
  read('P10.1 default', 'the format best is the default', `${image}?$expand=logo`, png),
  read(
    'P10.1 same',
    'a format may be written in any case',
    `${image}?$imageformat=PNG&$expand=logo`,
    png,
  ),
  read('P10.1 dot', 'a format may have a dot', `${image}?$imageformat=.png&$expand=logo`, png),
  read(
    'P10.1 content type',
    'a format may be a content type',
    `${image}?$imageformat=image/png&$expand=logo`,
    png,
  ),
  read(
    'P10.9 format',
    'an unknown format is refused',
    `${image}?$imageformat=exe&$expand=logo`,
    refused(400, 1824),
  ),
  read(
    'P10.1 version',
    'a former version of an image is not stored',
    `${image}?$version=9&$expand=logo`,
    {
      ...png,
      headers: { ...png.headers, 'cache-control': 'no-cache' },
    },
  ),
  read('P10.10', 'no image: an empty body', '/rest/Company(2)/logo?$expand=logo', nothing),
  read(
    'P10.1 missing',
    'an image of an unknown entity is 404',
    '/rest/Company(99)/logo?$expand=logo',
    refused(404, 1543),
  ),
  read('P10.2', 'the content of a BLOB', `${blob}?$binary=true&$expand=brochure`, {
    bytes: brochure,
    headers: {
      ...headers,
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
    },
  }),
  read('P10.2 JSON', 'without $binary=true the entity is sent', `${blob}?$expand=brochure`, {
    has: { brochure: { __deferred: { uri: `${blob}?$binary=true&$expand=brochure` } } },
  }),
  {
    id: 'P10.3',
    says: 'a file is sent before its entity',
    request: postText('/rest/$upload', 'bytes'),
    expect: { members: ['ID'] },
  },
  {
    id: 'P10.3 binary',
    says: 'an upload may contain any bytes',
    request: postText('/rest/$upload?$binary=true&$timeout=5', '{"', {
      'content-type': 'application/json',
    }),
    expect: { members: ['ID'] },
  },
  {
    id: 'P10.3 rawPict',
    says: 'an upload with $rawPict is an image',
    request: postText('/rest/$upload?$rawPict=true', 'GIF89a', { 'content-type': 'image/png' }),
    expect: { members: ['ID'] },
  },
  {
    id: 'P10.9',
    says: 'an upload that is labelled as an image but is not one is refused',
    request: postText('/rest/$upload?$rawPict=image/png', '<html>', {
      'content-type': 'image/png',
    }),
    expect: refused(400, 1824),
  },
  {
    id: 'P10.15 image',
    says: 'an image whose upload is unknown is refused',
    request: post(update, { name: 'M', logo: { ID: unknown } }),
    expect: refused(400, 1825, 1570, 1534),
  },
  {
    id: 'P10.15 BLOB',
    says: 'a BLOB whose upload is unknown is refused',
    request: post(update, { name: 'M', brochure: { ID: unknown } }),
    expect: refused(400, 1826, 1570, 1534),
  },
  {
    id: 'P1.12 upload',
    says: 'an upload from another site is refused',
    request: postText('/rest/$upload', 'bytes', { 'sec-fetch-site': 'cross-site' }),
    expect: refused(403, 1831),
  },
];
