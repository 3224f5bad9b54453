import { may, type HeldBits } from '../access/bits.js';
import { foldName, type Session } from '../access/session.js';
import type {
  AttributeDefinition,
  Bits,
  DataAccess,
  DataclassDefinition,
  FunctionDefinition,
} from '../protocol/definition.js';

/**
 * What the catalog and the OpenAPI document show to a session: what its bits open, and in the catalog
 * what `describe` shows although it may not be read (`access.md#what-roles-do`).
 */
export class Exposure {
  readonly #held: Bits;

  constructor(
    session: Pick<Session, 'privileges'>,
    private readonly bits: HeldBits,
  ) {
    this.#held = bits.of(session.privileges);
  }

  may(needed: Bits | undefined): boolean {
    return may(this.#held, needed);
  }

  /** Whether the catalog lists a function of the datastore or of a singleton. */
  lists({ access, describe }: FunctionDefinition): boolean {
    return this.may(access) || (describe !== undefined && this.may(describe));
  }

  /**
   * Whether a session can call a function.
   * @param owner its dataclass, if it belongs to one
   */
  calls(definition: FunctionDefinition, owner?: DataclassDefinition): boolean {
    return this.may(definition.access) && (owner === undefined || this.#reaches(definition, owner));
  }

  /** A function of entities needs their dataclass, which its own code may be promoted to read. */
  #reaches({ level, promote = [] }: FunctionDefinition, { access }: DataclassDefinition): boolean {
    if (level === 'dataclass' || this.may(access?.read)) return true;
    return may(this.bits.of(new Set(promote.map(foldName))), access?.read);
  }

  /**
   * A dataclass as the catalog shows it. One that cannot be read is listed if functions of it can be
   * called. `undefined` for one that is not listed.
   */
  described(definition: DataclassDefinition): DataclassDefinition | undefined {
    const { access, attributes, functions = [] } = definition;
    const describes = (each: DataAccess | undefined): boolean =>
      each?.describe !== undefined && this.may(each.describe);
    const isShown = (each: AttributeDefinition): boolean =>
      (this.may(access?.read) && this.may(each.access?.read)) || describes(each.access);
    const isListed =
      this.may(access?.read) ||
      describes(access) ||
      functions.some((each) => this.calls(each, definition));
    if (!definition.exposed || !isListed) return undefined;
    return {
      ...definition,
      attributes: attributes.map((each) => (isShown(each) ? each : { ...each, exposed: false })),
      functions: functions.filter((each) => this.lists(each)),
    };
  }
}
