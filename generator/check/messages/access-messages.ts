import type { MessageTable } from './message.js';

/** Functions, and who may do what. */
export const accessMessages = {
  'function/accessor-name': {
    severity: 'error',
    meaning: 'A dataclass function has the name that an accessor of a computed attribute gets.',
    text: (f: { name: string; attribute: string }) =>
      `The name ${f.name} is taken by an accessor of the computed attribute ${f.attribute}.`,
  },
  'function/get-not-exposed': {
    severity: 'error',
    meaning: 'A function that is not exposed has onHTTPGet.',
    text: (f: { name: string }) =>
      `${f.name} has onHTTPGet, and cannot be called at all without exposed: true.`,
  },
  'function/hidden': {
    severity: 'warning',
    meaning:
      'An exposed dataclass function has the same name as an exposed selection function of the dataclass.',
    text: (f: { name: string }) =>
      `The address of ${f.name} is that of the selection function ${f.name}: clients never reach this one.`,
  },
  'function/name-taken': {
    severity: 'error',
    meaning:
      'A function has the name of an attribute, or differs only in case from a function of another class.',
    text: (f: { name: string; other: string }) =>
      `The name ${f.name} is that of ${f.other} already: addresses or permissions would mean both.`,
  },
  'function/optional-order': {
    severity: 'error',
    meaning: 'A mandatory parameter follows an optional one.',
    text: (f: { parameter: string; optional: string }) =>
      `${f.parameter} is not optional and must come before ${f.optional}, which is.`,
  },
  'function/result-only-type': {
    severity: 'error',
    meaning: 'void or message is used for a parameter or inside a list.',
    text: (f: { type: string }) => `${f.type} can only be what a function returns.`,
  },
  'function/unknown-type': {
    severity: 'error',
    meaning: 'The type of a parameter or result does not exist.',
    text: (f: { type: string }) =>
      `There is no type ${f.type}. A type is a storage type, any, a dataclass, <dataclass>.selection, or one of these with [].`,
  },
  'function/void-mandatory': {
    severity: 'error',
    meaning: 'A function whose result is void has a mandatory result.',
    text: (f: { name: string }) => `${f.name} returns void, which is never a value.`,
  },
  'job/type': {
    severity: 'error',
    meaning: 'A parameter of a job is an entity, a selection, an image or a BLOB.',
    text: (f: { parameter: string; job: string; type: string }) =>
      `${f.parameter} of the job ${f.job} cannot be ${f.type}: a job is stored as JSON, and runs later. Pass the key of an entity, or a list of keys, and read it in the job.`,
  },
  'roles/absent': {
    severity: 'warning',
    meaning: 'The model has no roles.',
    text: () => 'The model has no roles, so everything is allowed to everyone.',
  },
  'roles/action': {
    severity: 'error',
    meaning: 'An action does not fit the type of the permission.',
    text: (f: { action: string; type: string; fitting: string }) =>
      `${f.action} does not apply to a ${f.type}. Possible: ${f.fitting}.`,
  },
  'roles/duplicate': {
    severity: 'error',
    meaning: 'A privilege, role or permission is declared twice, without regard to case.',
    text: (f: { what: string; name: string }) => `The ${f.what} ${f.name} is declared already.`,
  },
  'roles/empty-list': {
    severity: 'error',
    meaning: 'The list of an action in a permission is empty.',
    text: (f: { action: string }) =>
      `An empty list does not say who may ${f.action}. Write [guest] for everybody or [none] for nobody, or leave ${f.action} out.`,
  },
  'roles/file-not-found': {
    severity: 'error',
    meaning: 'The roles file does not exist.',
    text: (f: { path: string }) => `There is no file ${f.path} next to the model.`,
  },
  'roles/file-outside': {
    severity: 'error',
    meaning: 'The path of the roles file leaves the folder of the model.',
    text: (f: { path: string }) =>
      `${f.path} is not in the folder of the model. Give a path from the folder of the model, without .. in it.`,
  },
  'roles/include-cycle': {
    severity: 'error',
    meaning: 'A privilege includes itself, directly or by other privileges.',
    text: (f: { circle: string }) => `A privilege cannot include itself: ${f.circle}.`,
  },
  'roles/needed-for-explorer': {
    severity: 'error',
    meaning: 'The explorer needs a privilege, and the model has no roles that could declare it.',
    text: () =>
      'Without roles no session holds a privilege, and nobody could open the explorer. Declare the privilege in roles, or remove explorer.',
  },
  'roles/reserved-privilege': {
    severity: 'warning',
    meaning: 'A privilege is declared that is built in or kept for administration.',
    text: (f: { name: string }) => `${f.name} is built in and cannot be declared.`,
  },
  'roles/unknown-privilege': {
    severity: 'error',
    meaning: 'A privilege is not declared.',
    text: (f: { name: string }) => `No privilege is called ${f.name}.`,
  },
  'roles/unknown-resource': {
    severity: 'error',
    meaning: 'applyTo names no resource of the permission’s type.',
    text: (f: { type: string; applyTo: string }) => `The model has no ${f.type} ${f.applyTo}.`,
  },
  'roles/unreachable': {
    severity: 'warning',
    meaning: 'Nobody can reach an exposed dataclass or function, because no permission opens it.',
    text: (f: { names: string }) => `No permission lets anybody reach ${f.names}.`,
  },
} satisfies MessageTable;
