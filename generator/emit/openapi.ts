import {
  type JsonObject,
  openedDocument,
  type OpenedDataclass,
} from '../../runtime/protocol/opened-document.js';
import type { ClassFunction, Model } from '../model/model.js';
import { roleView, type SeenDataclass } from '../model/role-view.js';
import { servedModel } from '../model/served.js';
import { wholeDocument } from './openapi/document.js';

/**
 * The OpenAPI document that the server of a model gives to the holder of a role; without a role, all
 * that the model exposes.
 */
export function openApi(model: Model, role?: string): JsonObject {
  const served = servedModel(model);
  const { dataclasses, functions, singletons } = roleView(served, role);
  return openedDocument(wholeDocument(served), {
    isInside: role !== 'guest' || model.roles?.forceLogin !== true,
    dataclasses: dataclasses.map(openedDataclass),
    functions: [
      ...pathsOf('ds', functions),
      ...singletons.flatMap((each) => pathsOf(each.name, each.functions)),
    ],
  });
}

function openedDataclass({
  dataclass,
  actions,
  attributes,
  functions,
}: SeenDataclass): OpenedDataclass {
  return {
    name: dataclass.name,
    actions,
    attributes: attributes.map((each) => ({ name: each.attribute.name, actions: each.actions })),
    functions: Object.entries(functions).flatMap(([level, list]) => pathsOf(level, list)),
  };
}

function pathsOf(owner: string, functions: readonly ClassFunction[]): readonly string[] {
  return functions.map(({ name }) => `${owner}.${name}`);
}
