/** Members of every client that class code does not have: a model may use their names. */
const clientMembers = {
  selection: ['select', 'expand', 'each', 'set', 'release'],
  datastore: ['singletons', 'atomic', 'with'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Whether a client cannot have a dataclass or a function of this name. */
export function isClientMember(level: keyof typeof clientMembers, name: string): boolean {
  return (clientMembers[level] as readonly string[]).includes(name);
}
