import { child, entriesOf, entry } from '../source/tree.js';
import type { Place, SourceNode } from '../source/tree.js';

/** Where the model asks for class code, by the path of each place: functions, events, accessors, `restrict`. */
export type ClassPlaces = ReadonlyMap<string, Place>;

export function classPlaces(root: SourceNode): ClassPlaces {
  const places = new Map<string, Place>();
  const add = (place: Place | undefined): void => {
    if (place !== undefined) places.set(place.path, place);
  };
  const addFunctions = (functions: SourceNode | undefined): void => {
    for (const { key } of entriesOf(functions)) add(key);
  };
  for (const { value } of entriesOf(child(root, 'dataclasses'))) {
    for (const group of entriesOf(child(value, 'functions'))) addFunctions(group.value);
    for (const { key } of entriesOf(child(value, 'attributes'))) add(key);
    add(entry(value, 'events')?.key);
    add(entry(value, 'restrict')?.key);
  }
  addFunctions(child(child(root, 'datastore'), 'functions'));
  for (const { value } of entriesOf(child(root, 'singletons'))) {
    addFunctions(child(value, 'functions'));
  }
  return places;
}
