/** Twelve figures at most; `exact` is false where that or the arithmetic itself left something out. */
export function formatted(value: number): { text: string; exact: boolean } {
  if (value === 0) return { text: '0', exact: true };
  if (Number.isSafeInteger(value)) return { text: String(value), exact: true };
  const shown = Number(value.toPrecision(12));
  // 0.1 + 0.2 differs from 0.3 beyond the fifteenth figure only: that is the machine's error, not ours to report.
  const exact = Math.abs(value) < Number.MAX_SAFE_INTEGER && shown === Number(value.toPrecision(15));
  return { text: String(shown), exact };
}
