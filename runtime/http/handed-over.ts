import type { ChildProcess } from 'node:child_process';

/** A connection that Node's cluster hands over, which is none of its public types. */
interface Handle {
  close(): void;
}

/**
 * Closes what was being handed over to a process when it died. Node keeps such a connection open for ever, since nobody has said
 * that it has arrived; it hands one over at a time.
 */
export function closeUnreceived(child: ChildProcess): void {
  let last: Handle | undefined;
  const send = child.send.bind(child) as (...given: unknown[]) => boolean;
  const noting = (...given: unknown[]): boolean => {
    const [message, handle] = given;
    if (isHandOver(message) && isHandle(handle)) last = handle;
    return send(...given);
  };
  child.send = noting;
  child.once('exit', () => {
    // One that has arrived is closed here already, and nothing happens.
    last?.close();
  });
}

function isHandOver(message: unknown): boolean {
  return (
    typeof message === 'object' && message !== null && Reflect.get(message, 'act') === 'newconn'
  );
}

function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'close' in handle;
}
