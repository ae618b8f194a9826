/** At most so many code units, never half a surrogate pair. */
export function clip(text: string, units: number): string {
  if (text.length <= units) return text;
  const end = Math.max(0, units);
  const last = text.charCodeAt(end - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end);
}
