/** A file that is being written. */
export interface SavedFile {
  readonly write: (text: string) => Promise<void>;
  /** Stores the file, or hands it to the browser's downloads. */
  readonly close: () => Promise<void>;
  /** Gives the file up. */
  readonly abort: () => Promise<void>;
}

/** Browsers that can write into a file have it; its types are not in those of TypeScript. */
interface WithPicker {
  readonly showSaveFilePicker?: (options: {
    readonly suggestedName: string;
  }) => Promise<FileSystemFileHandle>;
}

/**
 * Asks where to store a file, and writes into it as its parts arrive. Where the browser cannot do
 * that, the parts are kept until the end.
 * @throws DOMException with the name `AbortError` if the user does not choose
 */
export async function savedFile(name: string, type: string): Promise<SavedFile> {
  const suggestedName = name.replaceAll(/[^\p{L}\p{N}._ -]/gu, '_');
  const picker = globalThis as WithPicker;
  if (picker.showSaveFilePicker === undefined) return downloadedFile(suggestedName, type);
  const handle = await picker.showSaveFilePicker({ suggestedName });
  const stream = await handle.createWritable();
  return {
    write: (text) => stream.write(text),
    close: () => stream.close(),
    abort: () => stream.abort(),
  };
}

function downloadedFile(name: string, type: string): SavedFile {
  // Blobs are outside of the memory of the script.
  const parts: Blob[] = [];
  return {
    write: (text) => {
      parts.push(new Blob([text]));
      return Promise.resolve();
    },
    close: () => {
      download(name, new Blob(parts, { type }));
      return Promise.resolve();
    },
    abort: () => {
      parts.length = 0;
      return Promise.resolve();
    },
  };
}

/** Hands bytes to the browser's downloads. */
export function download(name: string, bytes: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  // The browser reads the address after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
