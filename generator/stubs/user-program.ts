import { posix } from 'node:path';
import { InMemoryFileSystemHost, Project, ts } from 'ts-morph';

/** Files in the form of the compiler: synchronous, by absolute paths. */
export interface FilesAtOnce {
  readonly readFile: (path: string) => Uint8Array;
  readonly isFile: (path: string) => boolean;
}

/**
 * The TypeScript program of some of the user's files and of all that they import, with the server's own settings.
 * @param texts by absolute paths
 */
export function userProgram(
  root: string,
  texts: ReadonlyMap<string, string>,
  files: FilesAtOnce,
): ts.Program {
  const fileSystem = new ServerFiles(files);
  const project = new Project({
    fileSystem,
    compilerOptions: { ...optionsOf(root, fileSystem), noEmit: true, skipLibCheck: true },
    skipAddingFilesFromTsConfig: true,
    skipFileDependencyResolution: true,
  });
  for (const [path, text] of texts) project.createSourceFile(path, text, { overwrite: true });
  return project.getProgram().compilerObject;
}

/** The options of the server's `tsconfig.json`; the compiler reports errors in it. */
function optionsOf(root: string, files: ServerFiles): ts.CompilerOptions {
  const path = posix.join(root, 'tsconfig.json');
  const { config } = ts.readConfigFile(path, (each) => files.readFileSync(each)) as {
    readonly config?: unknown;
  };
  const host: ts.ParseConfigHost = {
    useCaseSensitiveFileNames: true,
    fileExists: (each) => files.fileExistsSync(each),
    readFile: (each) => files.readFileSync(each),
    readDirectory: () => [],
  };
  const { options } = ts.parseJsonConfigFileContent(config ?? {}, host, root);
  return options;
}

/** A read-only disk: the program writes nothing. */
class ServerFiles extends InMemoryFileSystemHost {
  readonly #decoder = new TextDecoder();

  constructor(private readonly files: FilesAtOnce) {
    super();
  }

  override readFileSync(path: string): string {
    return this.#decoder.decode(this.files.readFile(path));
  }

  override fileExistsSync(path: string): boolean {
    try {
      return this.files.isFile(path);
    } catch {
      // The compiler tries paths below files too.
      return false;
    }
  }

  /** The compiler asks for the file of a module next. */
  override directoryExistsSync(): boolean {
    return true;
  }

  override realpathSync(path: string): string {
    return path;
  }
}
