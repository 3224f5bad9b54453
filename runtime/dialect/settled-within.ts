/** Waits for work, but no longer than this; never fails. */
export async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overtime = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.then(nothing, nothing), overtime]);
  clearTimeout(timer);
}

function nothing(): void {
  // Whoever began the work is told what became of it.
}
