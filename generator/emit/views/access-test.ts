import { Granted, type Holder } from '../../model/granted.js';
import type { ClassFunction, Dataclass, Model, Roles } from '../../model/model.js';
import type { EmitContext } from '../context.js';
import { declaration, type Literal } from '../layout.js';

/** The file of the access test that says who may do what. */
export function accessTableView({ header, served: model }: EmitContext): object {
  const { roles } = model;
  if (roles === undefined) throw new Error('A model without roles has no access test.');
  const table = new Table(model, roles);
  return {
    header,
    holders: declaration('export const holders: readonly Holder[]', table.tried.map(holderLiteral)),
    access: declaration('export const access: Access', {
      forceLogin: roles.forceLogin,
      dataclasses: Object.fromEntries(
        model.dataclasses.map((each) => [each.name, table.dataclass(each)]),
      ),
      datastore: table.functions('ds', model.functions) ?? {},
      singletons: Object.fromEntries(
        model.singletons.map(({ name, functions }) => [name, table.functions(name, functions)]),
      ),
    }),
  };
}

function holderLiteral({ name, kind }: Holder): Literal {
  switch (kind) {
    case 'guest':
      return { name, isGuest: true };
    case 'user':
      return { name };
    case 'role':
      return { name, roles: [name] };
    case 'privilege':
      return { name, privileges: [name] };
  }
}

/** Rows of letters: a cell for each holder, separated by blanks. */
class Table {
  readonly tried: readonly Holder[];
  readonly #granted: Granted;
  /** Whether the catalog shows something to those who may not use it. */
  readonly #isDescribed: boolean;

  constructor(model: Model, roles: Roles) {
    this.#granted = new Granted(model, roles);
    this.tried = this.#granted.tried();
    this.#isDescribed = roles.permissions.some(({ actions }) => actions.describe !== undefined);
  }

  dataclass(dataclass: Dataclass): Literal {
    const { attributes, exposed, functions, name } = dataclass;
    const { dataclass: own, selection, entity } = functions;
    return {
      may: this.#dataRow((tried, action) => this.#granted.dataclass(dataclass, tried, action)),
      attributes: Object.fromEntries(
        attributes.map((each) => [
          each.name,
          this.#dataRow((tried, action) => this.#granted.attribute(dataclass, each, tried, action)),
        ]),
      ),
      functions: given({
        dataclass: this.functions(name, own, exposed),
        selection: this.functions(name, selection, exposed),
        entity: this.functions(name, entity, exposed),
      }),
    };
  }

  /** @param isReached whether clients know the owner at all */
  functions(
    owner: string,
    functions: readonly ClassFunction[],
    isReached = true,
  ): Literal | undefined {
    if (functions.length === 0) return undefined;
    return Object.fromEntries(
      functions.map((each) => [
        each.name,
        this.#row((tried) => [
          isReached && this.#granted.execute(owner, each, tried) ? 'x' : '-',
          isReached && this.#granted.describesFunction(owner, each, tried),
        ]),
      ]),
    );
  }

  #dataRow(
    may: (tried: Holder, action: (typeof dataActions)[number] | 'describe') => boolean,
  ): string {
    return this.#row((tried) => [
      dataActions.map((action) => (may(tried, action) ? letters[action] : '-')).join(''),
      may(tried, 'describe'),
    ]);
  }

  #row(cellOf: (tried: Holder) => readonly [letters: string, isDescribed: boolean]): string {
    return this.tried
      .map((tried) => {
        const [cell, isDescribed] = cellOf(tried);
        if (!this.#isDescribed) return cell;
        return cell + (isDescribed ? 'l' : '-');
      })
      .join(' ');
  }
}

const dataActions = ['create', 'read', 'update', 'drop'] as const;

const letters = { create: 'c', read: 'r', update: 'u', drop: 'd' } as const;

/** Nothing if there are no functions. */
function given(functions: Readonly<Record<string, Literal | undefined>>): Literal | undefined {
  return Object.values(functions).some((each) => each !== undefined) ? functions : undefined;
}
