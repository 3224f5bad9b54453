import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useMounted } from './mounted.js';
import type { AnyEntity } from './server.js';
import { store } from './store.js';

interface LockProps {
  readonly entity: AnyEntity;
}

/** Locks an entity for this session, until it is left. */
export function Lock({ entity }: LockProps): JSX.Element {
  const [holder, setHolder] = useState<'nobody' | 'me' | 'other'>('nobody');
  const locked = useRef<AnyEntity>();
  const isMounted = useMounted();
  const unlock = async (): Promise<void> => {
    const held = locked.current;
    locked.current = undefined;
    await held?.unlock();
  };
  useEffect(() => {
    // A lock that is not released here ends with the session.
    const leave = (): void => void unlock().catch(() => undefined);
    addEventListener('pagehide', leave);
    return () => {
      removeEventListener('pagehide', leave);
      leave();
    };
  }, []);
  const change = async (): Promise<void> => {
    if (locked.current !== undefined) {
      await unlock();
      setHolder('nobody');
    } else if (await entity.lock()) {
      locked.current = entity;
      if (!isMounted()) {
        await unlock();
        return;
      }
      setHolder('me');
      // Somebody may have changed it before.
      store.edited();
    } else setHolder('other');
  };
  return (
    <>
      <button type="button" aria-pressed={holder === 'me'} onClick={() => void store.act(change)}>
        {holder === 'me' ? 'Unlock' : 'Lock'}
      </button>{' '}
      <span role="status">
        {holder === 'me' && 'Nobody else can change it until you leave it.'}
        {holder === 'other' && 'Another session has locked it.'}
      </span>
    </>
  );
}
