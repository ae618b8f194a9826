const LONGEST = 60;

/** The first sentence of a message, cut at a word: what a session is called until somebody names it. */
export function titleFrom(text: string | null): string | null {
  const line = (text ?? '').trim().split('\n', 1)[0]!.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return null;
  const sentence = /^.*?[.!?…。！？](?=\s|$)/u.exec(line)?.[0] ?? line;
  if (sentence.length <= LONGEST) return sentence;
  const cut = sentence.slice(0, LONGEST).toWellFormed();
  const space = cut.lastIndexOf(' ');
  return `${(space > LONGEST / 2 ? cut.slice(0, space) : cut.slice(0, -1)).trimEnd()}…`;
}
