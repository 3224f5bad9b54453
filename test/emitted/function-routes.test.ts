import { describe, expect, it } from 'vitest';
import { emitContext } from '../../generator/emit/context.js';
import {
  functionRoutesView,
  hasFunctionRoutes,
  routesView,
} from '../../generator/emit/views/routes.js';
import type { Dataclass, Model } from '../../generator/model/model.js';
import { modelOf } from '../support/server.js';

function model(functions: string, atTop = ''): Model {
  const lines = ['drs: 1', 'name: small', atTop, 'dataclasses:', '  A:', `    ${functions}`];
  return modelOf([...lines, '    attributes: { ID: { type: integer, key: true } }'].join('\n'));
}

/** The routes of functions among those of the dataclass. */
function routesOf(functions: string): readonly string[] {
  const given = model(functions);
  const [dataclass] = given.dataclasses as readonly [Dataclass];
  const { routes } = routesView(emitContext(given, 'model.yaml'), dataclass) as {
    readonly routes: readonly string[];
  };
  return routes.filter((each) => each.includes('app.functions'));
}

describe('The functions of a dataclass have a route for each address', () => {
  it('of its class and of its entities', () => {
    const functions =
      'functions: { dataclass: { f: { exposed: true, onHTTPGet: true } }, entity: { g: { exposed: true } } }';
    expect(routesOf(functions)).toEqual([
      "app.route({ url: '/rest/A/f', ...app.functions.dataclass(ADataclass, 'f') });",
      "app.route({ url: '/rest/A(:key/g', ...app.functions.entity(ADataclass, 'g') });",
    ]);
  });

  it('of its selections, with and without a set', () => {
    const given = "...app.functions.selection(ADataclass, 'f')";
    expect(routesOf('functions: { selection: { f: { exposed: true } } }')).toEqual([
      `app.route({ url: '/rest/A/f', ${given} });`,
      `app.route({ url: '/rest/A/f/$entityset/:set?', ${given} });`,
      `app.route({ url: '/rest/A/$entityset/:set/f', ${given} });`,
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
      routes: ["app.route({ url: '/rest/$singleton/S/f', ...app.functions.singleton('S', 'f') });"],
    });
  });

  it('have no file when there are none', () => {
    expect(hasFunctionRoutes(model('exposed: true'))).toBe(false);
    expect(hasFunctionRoutes(model('exposed: true', 'singletons: { S: {} }'))).toBe(false);
  });
});
