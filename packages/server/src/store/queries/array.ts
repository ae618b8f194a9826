/** An array as Postgres reads it. The driver's own encoder took a quarter of the time of a commit. */
export function arrayLiteral(values: unknown[], quoted: boolean): string {
  let text = '{';
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text += ',';
    const value = values[i];
    if (value === null) text += 'NULL';
    else if (!quoted) text += value;
    else {
      const word = value as string;
      text += `"${/["\\]/.test(word) ? word.replace(/["\\]/g, '\\$&') : word}"`;
    }
  }
  return `${text}}`;
}
