import type { MessageTable } from './message.js';

interface OfType {
  readonly attribute: string;
  readonly type: string;
}

/** Attributes that hold or compute values. */
export const attributeMessages = {
  'attribute/date-only': {
    severity: 'error',
    meaning: 'An attribute, parameter or result that is not a date has dateOnly.',
    text: (f: OfType) => `${f.attribute} is of type ${f.type}, and dateOnly fits a date only.`,
  },
  'attribute/digits': {
    severity: 'error',
    meaning: 'An attribute that is not a decimal has precision or scale.',
    text: (f: OfType & { key: string }) =>
      `${f.attribute} is of type ${f.type}, and ${f.key} fits a decimal only.`,
  },
  'attribute/no-kind': {
    severity: 'error',
    meaning: 'An attribute has none of type, to, computed, alias and aggregate.',
    text: (f: { attribute: string }) =>
      `${f.attribute} is not defined. Give it one of type, to, computed, alias and aggregate.`,
  },
  'attribute/no-scale': {
    severity: 'error',
    meaning: 'A decimal has no scale.',
    text: (f: { attribute: string }) =>
      `${f.attribute} is a decimal and lacks its scale, the number of its decimals. For an amount of money write { type: decimal, scale: 2 }.`,
  },
  'attribute/scale-range': {
    severity: 'error',
    meaning: 'The scale of a decimal is greater than its precision.',
    text: (f: { attribute: string; precision: number; scale: number }) =>
      `The scale of ${f.attribute} is ${String(f.scale)}, and its values have ${String(f.precision)} digits (precision) in all.`,
  },
  'attribute/several-kinds': {
    severity: 'error',
    meaning: 'An attribute has more than one of type, to, computed, alias and aggregate.',
    text: (f: { attribute: string; first: string; second: string }) =>
      `${f.attribute} has ${f.first} and ${f.second}, and can be one of these only.`,
  },
  'storage/bad-bound': {
    severity: 'error',
    meaning: 'min or max is not a value of the attribute’s type.',
    text: (f: OfType & { key: string; expected: string }) =>
      `${f.key} of ${f.attribute} must be ${f.expected}, as its type is ${f.type}.`,
  },
  'storage/bad-default': {
    severity: 'error',
    meaning: 'A default is not a value of the attribute’s type, or breaks one of its rules.',
    text: (f: { attribute: string; reason: string }) =>
      `The default of ${f.attribute} ${f.reason}.`,
  },
  'storage/bad-enum-value': {
    severity: 'error',
    meaning: 'A value of an enum is not of the attribute’s type, or is listed twice.',
    text: (f: { attribute: string; reason: string }) =>
      `This value of the enum of ${f.attribute} ${f.reason}.`,
  },
  'storage/bad-pattern': {
    severity: 'error',
    meaning: 'A pattern is not a regular expression (JavaScript, flag u).',
    text: (f: { attribute: string; reason: string }) =>
      `The pattern of ${f.attribute} is not a regular expression: ${f.reason}.`,
  },
  'storage/default-assigned': {
    severity: 'error',
    meaning: 'A key, or an attribute that the server assigns, has a default.',
    text: (f: { attribute: string; kind: string }) =>
      `${f.attribute} is ${f.kind}, so a default has no effect.`,
  },
  'storage/dimensions': {
    severity: 'error',
    meaning: 'A vector has no dimensions, or an attribute of another type has some.',
    text: (f: OfType) =>
      f.type === 'vector'
        ? `${f.attribute} is a vector and lacks its dimensions.`
        : `${f.attribute} is of type ${f.type}, and dimensions fit a vector only.`,
  },
  'storage/enum-null-character': {
    severity: 'error',
    meaning: 'A value of an enum holds the character U+0000, which no rule of a database can hold.',
    text: (f: { attribute: string }) =>
      `This value of the enum of ${f.attribute} holds the character U+0000, and no rule of a database can hold it.`,
  },
  'storage/generated-type': {
    severity: 'error',
    meaning: 'A sequence is not of type integer, or a generated uuid not of type uuid.',
    text: (f: OfType & { generated: string; needed: string }) =>
      `${f.attribute} is of type ${f.type}, and generated: ${f.generated} needs the type ${f.needed}.`,
  },
  'storage/key-optional': {
    severity: 'error',
    meaning: 'A primary key has unique: false or mandatory: false.',
    text: (f: { attribute: string; flag: string }) =>
      `${f.attribute} is the primary key, and a key is always ${f.flag}.`,
  },
  'storage/key-type': {
    severity: 'error',
    meaning: 'A primary key is of a type that cannot be one.',
    text: (f: OfType) =>
      `${f.attribute} is of type ${f.type}, and a primary key is a string, uuid, integer or number.`,
  },
  'storage/not-indexable': {
    severity: 'error',
    meaning: 'An attribute of a type that no index can hold has unique or indexed.',
    text: (f: OfType & { flag: string }) =>
      `${f.attribute} is of type ${f.type}, and an attribute of that type cannot be ${f.flag}.`,
  },
  'storage/pattern-reach': {
    severity: 'warning',
    meaning: 'maxLength allows texts that are too long for the pattern to be tried on them.',
    text: (f: { attribute: string; limit: number }) =>
      `${f.attribute} has a pattern, and a server refuses texts of more than ${f.limit} characters for it.`,
  },
  'storage/range': {
    severity: 'error',
    meaning: 'A lower bound is above the upper one.',
    text: (f: { attribute: string; lower: string; upper: string }) =>
      `${f.lower} of ${f.attribute} is above its ${f.upper}.`,
  },
  'storage/rule-type': {
    severity: 'error',
    meaning: 'A rule (enum, minLength, maxLength, min, max, pattern) does not fit the type.',
    text: (f: OfType & { rule: string; fitting: string }) =>
      `${f.attribute} is of type ${f.type}, and ${f.rule} fits ${f.fitting} only.`,
  },
  'storage/slow-pattern': {
    severity: 'warning',
    meaning: 'A pattern can take polynomial or exponential time for a text that it does not match.',
    text: (f: { attribute: string; growth: string; part: string }) =>
      `The pattern of ${f.attribute} can take ${f.growth} time for a text that it does not match: ${f.part} can match the same characters in several ways.`,
  },
  'computed/bad-expression': {
    severity: 'error',
    meaning: 'The database refuses an expression.',
    text: (f: { attribute: string; reason: string }) =>
      `The database refuses the expression of ${f.attribute}: ${f.reason}.`,
  },
  'computed/accessor-type': {
    severity: 'error',
    meaning: 'An attribute with accessors is an image or a BLOB.',
    text: (f: OfType) => `${f.attribute} is of type ${f.type}, and no accessor yields that.`,
  },
  'computed/expression-of-decimal': {
    severity: 'error',
    meaning:
      'An expression names the column of a decimal, which databases hold in different forms.',
    text: (f: { attribute: string; column: string }) =>
      `The expression of ${f.attribute} names the column ${f.column}, which holds a decimal, and no expression computes with decimals.`,
  },
  'computed/expression-and-accessors': {
    severity: 'error',
    meaning: 'A computed attribute has an expression and accessors.',
    text: (f: { attribute: string }) =>
      `${f.attribute} has an expression and accessors, and can have one of these only.`,
  },
  'computed/expression-type': {
    severity: 'error',
    meaning: 'An attribute with an expression is a decimal, an image, a BLOB or a vector.',
    text: (f: OfType) => `${f.attribute} is of type ${f.type}, and no expression yields that.`,
  },
  'computed/no-getter': {
    severity: 'error',
    meaning: 'The accessors of a computed attribute lack get.',
    text: (f: { attribute: string }) => `${f.attribute} has no accessor get, so it cannot be read.`,
  },
  'computed/not-deterministic': {
    severity: 'error',
    meaning: 'The value of an expression changes with the time or at random.',
    text: (f: { attribute: string; reason: string }) =>
      `The expression of ${f.attribute} must give the same value for the same columns: ${f.reason}.`,
  },
  'computed/not-portable': {
    severity: 'error',
    meaning:
      'The model names the database postgres, and PostgreSQL has no equivalent of an expression.',
    text: (f: { attribute: string; reason: string }) =>
      `The expression of ${f.attribute} cannot be computed by PostgreSQL: ${f.reason}.`,
  },
  'computed/not-one-expression': {
    severity: 'error',
    meaning: 'An expression holds a comment, a semicolon or an unpaired parenthesis or quote.',
    text: (f: { attribute: string; reason: string }) =>
      `The expression of ${f.attribute} must be one SQL expression: ${f.reason}.`,
  },
  'aggregate/bad-form': {
    severity: 'error',
    meaning: 'An aggregate is not a function with a path in parentheses.',
    text: (f: { attribute: string }) =>
      `${f.attribute} needs one of count, sum, average, min and max, and a path in parentheses, such as sum(lines.amount).`,
  },
  'aggregate/filter': {
    severity: 'error',
    meaning: 'The filter of an aggregate is wrong.',
    text: (f: { attribute: string; reason: string }) =>
      `The filter of ${f.attribute} is wrong. ${f.reason}`,
  },
  'aggregate/no-column': {
    severity: 'error',
    meaning: 'An aggregate or its filter names an attribute that no column holds.',
    text: (f: { attribute: string; step: string }) =>
      `${f.attribute} cannot use ${f.step}, which no column holds.`,
  },
  'aggregate/no-to-many': {
    severity: 'error',
    meaning: 'The path of an aggregate has no to-many relation.',
    text: (f: { attribute: string }) =>
      `${f.attribute} leads over no to-many relation, so there is one value only: use alias.`,
  },
  'aggregate/not-a-relation': {
    severity: 'error',
    meaning: 'The path of an aggregate continues after an attribute that is not a relation.',
    text: (f: { attribute: string; step: string }) =>
      `${f.attribute} cannot continue after ${f.step}, which is not a relation.`,
  },
  'aggregate/too-long': {
    severity: 'error',
    meaning: 'The path of an aggregate has more than 10 names.',
    text: (f: { attribute: string; count: number; limit: number }) =>
      `The path of ${f.attribute} has ${f.count} names, and may have ${f.limit}.`,
  },
  'aggregate/type': {
    severity: 'error',
    meaning: 'An aggregate has no values of a type that it applies to.',
    text: (f: { attribute: string; aggregate: string; found: string; types: string }) =>
      `${f.attribute} is ${f.aggregate} of what is ${f.found}: it applies to ${f.types}.`,
  },
  'aggregate/unknown-step': {
    severity: 'error',
    meaning: 'An aggregate or its filter names an attribute that does not exist.',
    text: (f: { attribute: string; dataclass: string; step: string }) =>
      `${f.attribute} names ${f.step}, and ${f.dataclass} has no such attribute.`,
  },
  'alias/bad-path': {
    severity: 'error',
    meaning:
      'The path of an alias is not a list of names separated by dots, with at least one relation.',
    text: (f: { alias: string }) =>
      `${f.alias} needs a path such as employer.name: relations, and an attribute if it has a value, with dots between.`,
  },
  'alias/cycle': {
    severity: 'error',
    meaning: 'An alias leads back to itself.',
    text: (f: { alias: string; circle: string }) => `${f.alias} leads back to itself: ${f.circle}.`,
  },
  'alias/not-a-relation': {
    severity: 'error',
    meaning: 'The path of an alias continues after an attribute that is not a relation.',
    text: (f: { alias: string; step: string }) =>
      `${f.alias} cannot continue after ${f.step}, which is not a relation.`,
  },
  'alias/opens-closed': {
    severity: 'warning',
    meaning:
      'Somebody may read an alias, but not the attribute that it leads to or a relation on the way.',
    text: (f: { alias: string; holders: string; step: string }) =>
      `${f.alias} shows its value to ${f.holders}, who may not read ${f.step}. Give ${f.alias} a permission of its own that says who may read it.`,
  },
  'alias/to-many': {
    severity: 'error',
    meaning: 'The path of an alias leads over a to-many relation to an attribute.',
    text: (f: { alias: string; step: string }) =>
      `${f.alias} leads over a to-many relation to ${f.step}, and an alias has one value only. End its path at a relation, and it leads to entities.`,
  },
  'alias/to-accessors': {
    severity: 'error',
    meaning: 'The path of an alias ends at an attribute that class code computes.',
    text: (f: { alias: string; step: string }) =>
      `${f.alias} ends at ${f.step}, which class code computes: no database can follow there.`,
  },
  'alias/to-aggregate': {
    severity: 'error',
    meaning: 'The path of an alias ends at an aggregate.',
    text: (f: { alias: string; step: string }) =>
      `${f.alias} ends at ${f.step}, which is an aggregate: clients name it by its path.`,
  },
  'alias/too-deep': {
    severity: 'error',
    meaning: 'An alias leads to an alias that leads to an alias, more than 100 times.',
    text: (f: { alias: string; limit: number }) =>
      `${f.alias} is one of more than ${f.limit} aliases that refer to each other.`,
  },
  'alias/too-long': {
    severity: 'error',
    meaning: 'An alias to a relation follows more than 10 relations.',
    text: (f: { alias: string; count: number; limit: number }) =>
      `${f.alias} follows ${f.count} relations, and an alias to a relation follows ${f.limit} at most.`,
  },
  'alias/too-many': {
    severity: 'error',
    meaning: 'The aliases of a dataclass follow more than 60 different relations to one entity.',
    text: (f: { alias: string; dataclass: string; limit: number }) =>
      `With ${f.alias}, the aliases of ${f.dataclass} follow more than ${f.limit} different relations, which no read can join.`,
  },
  'alias/unknown-step': {
    severity: 'error',
    meaning: 'The path of an alias names an attribute that does not exist.',
    text: (f: { alias: string; dataclass: string; step: string }) =>
      `${f.alias} leads over ${f.step}, and ${f.dataclass} has no such attribute.`,
  },
} satisfies MessageTable;
