import { basename, dirname, join } from 'node:path';
import type { Disk, DiskKind } from '../../generator/output/disk.js';

type Node =
  | { readonly kind: 'file'; readonly text: string }
  | { readonly kind: 'link'; readonly to: string }
  | { readonly kind: 'folder' };

export interface MemoryDisk extends Disk {
  /** Puts a file with the folders above it. */
  put(path: string, text: string): void;
  link(path: string, to: string): void;
  folder(path: string): void;
  /** Every file and link below a folder: relative path → text, or `→ target`. */
  tree(folder: string): Record<string, string>;
  /** Empty folders below a folder, relative. */
  emptyFolders(folder: string): readonly string[];
  /** One line for each change since the start. */
  readonly changes: string[];
  /** Another disk with the same files. */
  copy(): MemoryDisk;
}

type Nodes = Map<string, { readonly path: string; readonly node: Node }>;

/** A disk in memory, which can ignore case like macOS and Windows. */
export function memoryDisk(
  options: { ignoresCase?: boolean } = {},
  nodes: Nodes = new Map(),
): MemoryDisk {
  const changes: string[] = [];
  const keyOf = (path: string) => (options.ignoresCase === true ? path.toLowerCase() : path);

  let hasLinks = [...nodes.values()].some(({ node }) => node.kind === 'link');

  /** Follows the links of the folders above. */
  function place(path: string): string {
    if (!hasLinks) return path;
    const above = dirname(path);
    if (above === path) return path;
    const folder = place(above);
    const node = nodes.get(keyOf(folder))?.node;
    return join(node?.kind === 'link' ? place(node.to) : folder, basename(path));
  }

  const find = (path: string) => nodes.get(keyOf(place(path)));
  const set = (path: string, node: Node) => {
    const real = place(path);
    nodes.set(keyOf(real), { path: real, node });
    hasLinks ||= node.kind === 'link';
  };
  const inside = (folder: string) => {
    const start = `${keyOf(folder)}/`;
    return [...nodes].flatMap(([key, entry]) => (key.startsWith(start) ? [entry] : []));
  };

  function need(path: string, kind: DiskKind): Node {
    const found = find(path)?.node;
    const node = found?.kind === 'link' ? find(found.to)?.node : found;
    if (node === undefined) throw systemError('ENOENT', path);
    if (node.kind !== kind) throw systemError(kind === 'folder' ? 'ENOTDIR' : 'EISDIR', path);
    return node;
  }

  function changing(line: string, work: () => void): Promise<void> {
    return Promise.resolve().then(() => {
      work();
      changes.push(line);
    });
  }

  function folder(path: string): void {
    if (dirname(path) !== path) folder(dirname(path));
    if (find(path) === undefined) set(path, { kind: 'folder' });
  }

  folder('/');
  return {
    changes,
    folder,
    copy: () => memoryDisk(options, new Map(nodes)),
    put: (path, text) => {
      folder(dirname(path));
      set(path, { kind: 'file', text });
    },
    link: (path, to) => {
      folder(dirname(path));
      set(path, { kind: 'link', to });
    },
    tree: (root) =>
      Object.fromEntries(
        inside(root)
          .flatMap(({ path, node }): [string, string][] => {
            if (node.kind === 'folder') return [];
            const text = node.kind === 'file' ? node.text : `→ ${node.to}`;
            return [[path.slice(root.length + 1), text]];
          })
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ),
    emptyFolders: (root) =>
      inside(root)
        .filter(({ path, node }) => node.kind === 'folder' && inside(path).length === 0)
        .map(({ path }) => path.slice(root.length + 1)),
    kind: (path) => Promise.resolve(find(path)?.node.kind),
    resolve: (path) =>
      Promise.resolve().then(() => {
        const found = find(path);
        if (found === undefined) throw systemError('ENOENT', path);
        const real = found.node.kind === 'link' ? place(found.node.to) : place(path);
        if (find(real) === undefined) throw systemError('ENOENT', path);
        return real;
      }),
    list: (path) =>
      Promise.resolve().then(() => {
        need(path, 'folder');
        const real = place(path);
        return inside(real)
          .filter((entry) => keyOf(dirname(entry.path)) === keyOf(real))
          .map((entry) => basename(entry.path));
      }),
    read: (path) =>
      Promise.resolve().then(() => {
        const node = need(path, 'file');
        return new TextEncoder().encode(node.kind === 'file' ? node.text : '');
      }),
    create: (path, text) =>
      changing(`create ${path}`, () => {
        need(dirname(path), 'folder');
        if (find(path) !== undefined) throw systemError('EEXIST', path);
        set(path, { kind: 'file', text });
      }),
    makeFolder: (path) =>
      changing(`make ${path}`, () => {
        need(dirname(path), 'folder');
        if (find(path) !== undefined) throw systemError('EEXIST', path);
        set(path, { kind: 'folder' });
      }),
    rename: (from, to) =>
      changing(`rename ${from} ${to}`, () => {
        const found = find(from);
        if (found === undefined) throw systemError('ENOENT', from);
        need(dirname(to), 'folder');
        nodes.delete(keyOf(place(from)));
        set(to, found.node);
      }),
    removeFile: (path) =>
      changing(`remove ${path}`, () => {
        if (find(path) === undefined) throw systemError('ENOENT', path);
        nodes.delete(keyOf(place(path)));
      }),
    removeFolder: (path) =>
      changing(`remove ${path}`, () => {
        need(path, 'folder');
        if (inside(place(path)).length > 0) throw systemError('ENOTEMPTY', path);
        nodes.delete(keyOf(place(path)));
      }),
    flush: (path) =>
      changing(`flush ${path}`, () => {
        need(path, 'folder');
      }),
  };
}

export function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code, syscall: 'test' });
}
