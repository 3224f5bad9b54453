import { describe, expect, it } from 'vitest';
import {
  dataclassMembers,
  datastoreMembers,
  entityMembers,
  functionNames,
  jobMember,
  selectionMembers,
} from '../../generator/check/reserved.js';
import { DataclassObject, Singleton } from '../../runtime/class/objects/dataclass.js';
import { Datastore } from '../../runtime/class/objects/datastore.js';
import { Entity } from '../../runtime/class/objects/entity.js';
import { EntitySelection } from '../../runtime/class/objects/selection.js';

/** The names of the members of a class, without private ones. */
function membersOf(prototype: object): string[] {
  return Object.getOwnPropertyNames(prototype).sort();
}

describe('The names that models cannot use are the members of the base classes:', () => {
  it.each([
    ['entity', Entity.prototype, entityMembers],
    ['selection', EntitySelection.prototype, selectionMembers],
    ['dataclass', DataclassObject.prototype, dataclassMembers],
    ['datastore', Datastore.prototype, datastoreMembers],
  ] as const)('%s', (_, prototype, reserved) => {
    expect([...reserved].sort()).toEqual(membersOf(prototype));
  });

  it('datastore, in a model with jobs', () => {
    expect(jobMember).toBe('enqueue');
    expect(datastoreMembers.has(jobMember)).toBe(false);
  });

  it('singleton', () => {
    const reserved = new Set(functionNames.singleton);
    // `await` would treat an object with a method of this name as a promise.
    reserved.delete('then');
    expect([...reserved].sort()).toEqual(membersOf(Singleton.prototype));
  });
});
