import { useEffect, useRef } from 'preact/hooks';

/** @returns whether the component is still in the page, for work that ends later */
export function useMounted(): () => boolean {
  const isMounted = useRef(true);
  useEffect(
    () => () => {
      isMounted.current = false;
    },
    [],
  );
  return () => isMounted.current;
}
