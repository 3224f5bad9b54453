import { posix } from 'node:path';
import type { ClassFiles } from '../emit/classes/user-classes.js';
import type { EmittedFile } from '../emit/file.js';
import type { ReadUserText, UserEdit } from '../output/user-edits.js';
import { shellWord } from './shell-word.js';

/** A line of a user's file that an earlier drs-gen wrote and that does not work with this one. */
export interface OldLine {
  readonly path: string;
  /** The number of the line, from 1. */
  readonly line: number;
  readonly before: string;
  /** Its replacement; several lines if it needs more. */
  readonly after: string;
}

/** The changes that the server of an earlier drs-gen needs. */
export interface UpgradeReview {
  readonly lines: readonly OldLine[];
  /** The files with these lines replaced. */
  readonly edits: readonly UserEdit[];
  /** Files that are no longer used. */
  readonly unused: readonly string[];
}

/** The new text of a line of a file; the same text if it does not change. */
type Rule = (line: string, file: string) => string;

/** The modules that now export what users' files imported from the runtime. */
const publicEntries: Readonly<Record<string, string>> = {
  'access/login-module': 'access',
  'access/password': 'access',
  'access/session': 'access',
  'http/app-options': 'http',
  'http/serve': 'http',
  'http/settings': 'http',
  'protocol/definition': 'definition',
  'protocol/nearest-name': 'access',
};

const code: Rule = (line) =>
  line.replace(
    /(['"])(?:\.\.?\/)+(?:src\/)?runtime\/([\w/-]+)\.js\1/g,
    (specifier, quote: string, module: string) => {
      const folder = module.startsWith('class/') ? 'class' : publicEntries[module];
      return folder === undefined ? specifier : `${quote}#runtime/${folder}${quote}`;
    },
  );

/** The files of a database on SQLite: its state stands beside it, as `data.sqlite-state`. */
const databaseFiles: Rule = (line) => (line === '*.sqlite-shm' ? '*.sqlite-*' : line);

const rules: Readonly<Record<string, Rule>> = {
  '.gitignore': databaseFiles,
  '.dockerignore': databaseFiles,
  'package.json': (line, file) => {
    const isEarlier = !file.includes('"#runtime/*"');
    if (isEarlier && /^ *"type": "module",$/.test(line)) {
      return `${line}\n  "imports": {\n    "#runtime/*": "./runtime/*.js"\n  },`;
    }
    const scripts = line
      .replace('"tsc && node bundle.mjs"', '"tsc"')
      .replace('dist/server/main.js', 'dist/src/main.js')
      .replace('node --enable-source-maps dist/', 'node dist/');
    // A newer server without such a script does not need it.
    return isEarlier && /^ *"build": "tsc",$/.test(scripts) && !file.includes('"dev":')
      ? `${scripts}\n    "dev": "tsx watch src/main.ts",`
      : scripts;
  },
  'tsconfig.json': (line, file) =>
    line === '    "sourceMap": true' && !file.includes('"incremental"')
      ? `${line},\n    "incremental": true`
      : line,
  Dockerfile: (line, file) => {
    const command = line
      .replace('dist/server/main.js', 'dist/src/main.js')
      .replace('"--enable-source-maps", "dist/', '"dist/');
    return /^COPY .*\/dist \.\/dist$/.test(line) && !file.includes('./runtime')
      ? `${line.replace('/dist ./dist', '/runtime ./runtime')}\n${line}`
      : command;
  },
};

/** Files of the user that a newer server does not have. */
const formerFiles = [
  'src/create-user.ts',
  'src/users.ts',
  'src/users-in-postgres.ts',
  'src/users-in-sqlite.ts',
];

/** Finds what an earlier drs-gen wrote into files that now belong to the user. */
export async function upgradeReview(
  files: readonly EmittedFile[],
  classFiles: ClassFiles,
  read: ReadUserText,
): Promise<UpgradeReview> {
  const lines: OldLine[] = [];
  const edits: UserEdit[] = [];
  const written = files.filter(({ owner }) => owner === 'user').map(({ path }) => path);
  for (const path of new Set([...written, ...formerFiles, ...classFiles.values()])) {
    const rule = rules[path] ?? (path.endsWith('.ts') ? code : undefined);
    const found = rule === undefined ? undefined : await read(path);
    if (rule === undefined || found?.kind !== 'file') continue;
    const { text } = found;
    const ending = text.includes('\r\n') ? '\r\n' : '\n';
    const upgraded = text.split(ending).map((before, index) => {
      const after = rule(before, text);
      if (after !== before) lines.push({ path, line: index + 1, before, after });
      return after.replaceAll('\n', ending);
    });
    const joined = upgraded.join(ending);
    if (joined !== text) edits.push({ path, before: text, text: joined });
  }
  const bundler = 'bundle.mjs';
  const isThere = (await read(bundler)).kind === 'file';
  return { lines, edits, unused: isThere ? [bundler] : [] };
}

/** The changes for the user to make, line by line. */
export function renderUpgrade(
  { lines, unused }: UpgradeReview,
  target: { readonly file: string; readonly folder: string; readonly isDone: boolean },
): string {
  const { file, folder, isDone } = target;
  const told: string[] = [];
  if (lines.length > 0 && !isDone) {
    const command = `npx drs-gen ${shellWord(file)} -o ${shellWord(folder)} --upgrade`;
    told.push(
      `Some of your files in ${folder} contain lines of an earlier drs-gen. Change these lines, or run ${command}`,
      ...lines.flatMap(({ path, line, before, after }) => [
        `  ${posix.join(folder, path)}:${line}`,
        `  - ${before.trim()}`,
        ...after.split('\n').map((each) => `  + ${each.trim()}`),
      ]),
    );
  }
  for (const path of unused) {
    told.push(
      `${posix.join(folder, path)} is no longer used, and neither is esbuild: delete both.`,
    );
  }
  return told.join('\n');
}
