/** More pieces than this would make a long answer tedious: at 15 ms each, three seconds. */
const MOST = 200;

/** Words with the space behind them, several together where there are many; joined they are the text exactly. */
export function pieces(text: string): string[] {
  const words = text.match(/\S+\s*|\s+/g) ?? [];
  const together = Math.ceil(words.length / MOST);
  if (together <= 1) return words;
  const joined: string[] = [];
  for (let at = 0; at < words.length; at += together) joined.push(words.slice(at, at + together).join(''));
  return joined;
}
