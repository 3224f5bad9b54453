import { refuse } from './errors.js';
import { readKeyClause } from './key.js';

/** The address of an entity by an attribute's value: `<attribute>(<value>)` behind the dataclass and a colon. */
export interface Lookup {
  readonly name: string;
  readonly text: string;
}

/** @throws RequestError 400 with 1806 when there are no parentheses */
export function readLookup(clause: string): Lookup {
  const open = clause.indexOf('(');
  if (open < 1) throw refuse('malformedUrl', 'Expected <dataClass>:<attribute>(<value>).');
  return { name: clause.slice(0, open), text: readKeyClause(clause.slice(open + 1)).text };
}
