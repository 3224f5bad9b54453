import { describe, expect, it } from 'vitest';
import { emitContext } from '../../generator/emit/context.js';
import {
  dataclassFunctionRoutes,
  functionRoutesView,
  hasFunctionRoutes,
} from '../../generator/emit/views/function-routes.js';
import type { Dataclass, Model } from '../../generator/model/model.js';
import { modelOf } from '../support/server.js';

function model(functions: string, atTop = ''): Model {
  const lines = ['drs: 1', 'name: small', atTop, 'dataclasses:', '  A:', `    ${functions}`];
  return modelOf([...lines, '    attributes: { ID: { type: integer, key: true } }'].join('\n'));
}

function routesOf(functions: string): readonly string[] {
  const [dataclass] = model(functions).dataclasses as readonly [Dataclass];
  return dataclassFunctionRoutes(dataclass);
}

describe('The functions of a dataclass have a line for each address and verb', () => {
  it('of its class and of its entities', () => {
    const functions =
      'functions: { dataclass: { f: { exposed: true, onHTTPGet: true } }, entity: { g: { exposed: true } } }';
    expect(routesOf(functions)).toEqual([
      "app.get('/rest/A/f', functions.dataclass.f)",
      "app.post('/rest/A/f', functions.dataclass.f)",
      "app.get('/rest/A(:key/g', app.functions.onlyByPost('g'))",
      "app.post('/rest/A(:key/g', functions.entity.g)",
    ]);
  });

  it('of its selections, with and without a set', () => {
    const routes = routesOf('functions: { selection: { f: { exposed: true } } }');
    expect(routes.filter((each) => each.startsWith('app.post'))).toEqual([
      "app.post('/rest/A/f', functions.selection.f)",
      "app.post('/rest/A/f/$entityset', functions.selection.f)",
      "app.post('/rest/A/f/$entityset/:set', functions.selection.f)",
      "app.post('/rest/A/$entityset/:set/f', functions.selection.f)",
    ]);
  });

  it('except for those that are not exposed', () => {
    expect(routesOf('functions: { dataclass: { f: {} }, selection: { g: {} } }')).toEqual([]);
  });
});

describe('The functions of the datastore and of singletons', () => {
  function routes(atTop: string): unknown {
    return functionRoutesView(emitContext(model('exposed: true', atTop), 'model.yaml'));
  }

  it('have routes of their own', () => {
    const top =
      'singletons: { S: { functions: { f: { exposed: true, onHTTPGet: true }, g: {} } }, T: {} }';
    expect(routes(top)).toMatchObject({
      routes: [
        "app.get('/rest/$singleton/S/f', functions.singleton.S.f)",
        "app.post('/rest/$singleton/S/f', functions.singleton.S.f)",
      ],
    });
  });

  it('have no file when there are none', () => {
    expect(hasFunctionRoutes(model('exposed: true'))).toBe(false);
    expect(hasFunctionRoutes(model('exposed: true', 'singletons: { S: {} }'))).toBe(false);
  });
});
