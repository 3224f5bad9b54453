import type { Dataclass } from '../dataclass/dataclasses.js';
import type { PendingAnswer } from '../dialect/executor.js';
import type { Statement } from '../dialect/statement.js';
import { comparisonValue } from '../protocol/comparison-value.js';
import type { StorageDefinition } from '../protocol/definition.js';
import { refuse } from '../protocol/errors.js';
import type { Lookup } from '../protocol/key.js';
import { projectionOf } from './projection-of.js';
import type { ReadingContext } from './reading-context.js';
import { shapeName } from './selection-request.js';
import { planEntity } from './entity.js';
import type { Parameters } from './parameters.js';
import { unknownAttribute } from './projection.js';
import { mostRelated, refuseTooManyRelated } from './related-count.js';

/** The types of attributes whose values an address can contain. */
const lookupTypes: ReadonlySet<string> = new Set([
  'string',
  'uuid',
  'number',
  'integer',
  'boolean',
  'date',
  'duration',
]);

/** Reads single entities, by key or by the value of another attribute. */
export class EntityReader {
  constructor(
    private readonly context: ReadingContext,
    private readonly dataclass: Dataclass,
  ) {}

  /**
   * @param attributes the list in the path
   * @returns `undefined` if no entity has the key
   */
  read(
    key: StorageDefinition,
    value: string | number,
    parameters: Parameters,
    attributes: string | undefined,
  ): PendingAnswer {
    const statement = this.#statement(key, parameters, attributes);
    const bound =
      key.type === 'string' ? this.context.database.dialect.foldText(String(value)) : value;
    return this.context.database.executor.read(statement, [bound]);
  }

  /** @returns `undefined` if no entity has the value; the first in key order if several have it */
  readByValue(
    { name, text }: Lookup,
    parameters: Parameters,
    attributes: string | undefined,
  ): PendingAnswer {
    const attribute = this.dataclass.exposedAttributes.get(name);
    if (attribute === undefined) throw unknownAttribute(this.dataclass, name, 'path');
    if (attribute.kind !== 'storage' || !lookupTypes.has(attribute.type)) {
      throw refuse('malformedUrl', `Entities cannot be looked up by "${name}".`);
    }
    const statement = this.#statement(attribute, parameters, attributes);
    const value = comparisonValue(
      attribute.type,
      attribute.dateOnly === true,
      { value: text, text },
      this.context.database.dialect.foldText,
    );
    if (value === undefined) return undefined;
    return this.context.database.executor.read(statement, [value]);
  }

  #statement(
    attribute: StorageDefinition,
    parameters: Parameters,
    attributes: string | undefined,
  ): Statement {
    const name = shapeName([
      this.dataclass.name,
      attribute.name,
      attributes,
      parameters.attributes,
      parameters.expand,
    ]);
    const known = this.context.plans.entities.get(name);
    if (known !== undefined) return known;
    const { database, options } = this.context;
    const projection = projectionOf(this.dataclass, attributes, parameters, this.context);
    refuseTooManyRelated(mostRelated(projection, options.pageSize));
    const { dialect } = database;
    const statement = planEntity(dialect, options, this.dataclass, attribute, projection);
    this.context.plans.entities.set(name, statement);
    return statement;
  }
}
