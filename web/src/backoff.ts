const kFirstMs = 500;
const kLongestMs = 15_000;

/**
 * How long to wait before attempt `failures` + 1, after so many failures in a row: twice as long each time, and up to
 * a quarter less by chance, so that pages do not all come back at the same moment.
 */
export function backoffMs(failures: number, chance: number): number {
  const full = Math.min(kLongestMs, kFirstMs * 2 ** Math.max(0, failures - 1));
  return full * (1 - chance / 4);
}
