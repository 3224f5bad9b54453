import type { Database } from 'better-sqlite3';

/** What a connection of a model with vectors loads: functions that compare them. */
export type LoadVectors = (database: Database) => void;

/** A variable, so that servers of models without vectors compile where the package is not installed. */
const packageName = 'sqlite-vec';

/**
 * Finds the SQLite extension that computes distances of vectors.
 * @throws Error that says what to install, when it is not there or not made for this machine
 */
export async function vectorExtension(): Promise<LoadVectors> {
  try {
    const extension = (await import(packageName)) as { readonly load: LoadVectors };
    return (database) => {
      load(extension.load, database);
    };
  } catch (error) {
    throw unusable(error);
  }
}

function load(extension: LoadVectors, database: Database): void {
  try {
    extension(database);
  } catch (error) {
    throw unusable(error);
  }
}

function unusable(error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(
    `The model has vectors, and the package ${packageName} that compares them cannot be used; run: npm install ${packageName}\n${reason}`,
    { cause: error },
  );
}
