import type { Database } from 'better-sqlite3';
import { Scorer, type VectorComparison } from '../../protocol/vector.js';
import { prepared } from './functions.js';

/** Loads the vector functions into a connection; for models with vectors only. */
export type LoadVectors = (database: Database) => void;

/** A variable, so that servers of models without vectors compile without the package. */
const packageName = 'sqlite-vec';

/** Finds the SQLite extension that computes distances of vectors; errors say what to install. */
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
    registerCompareScore(database);
  } catch (error) {
    throw unusable(error);
  }
}

function registerCompareScore(database: Database): void {
  const scorers = prepared((json) => new Scorer(JSON.parse(json) as VectorComparison));
  const options = { deterministic: true };
  database.function('drs_compare_score', options, (vector: unknown, comparison: unknown) => {
    if (typeof vector !== 'string' || typeof comparison !== 'string') return null;
    const scorer = scorers(comparison);
    if (scorer.always !== undefined) return scorer.always;
    return scorer.compare(JSON.parse(vector) as readonly number[]);
  });
}

function unusable(error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  return new Error(
    `The model has vectors, and the package ${packageName} that compares them cannot be used; run: npm install ${packageName}\n${reason}`,
    { cause: error },
  );
}
