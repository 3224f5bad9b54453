/** Waits for work, at most for this time; never rejects. */
export async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const overtime = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work.then(nothing, nothing), overtime]);
  clearTimeout(timer);
}

function nothing(): void {
  // The caller that started the work handles its errors.
}
