const LONGEST = 60;

/** The first sentence of a message, cut at a word: what a session is called until somebody names it. */
export function titleFrom(text: string | null): string | null {
  return firstSentence(text ?? '', LONGEST);
}

/** On one line; null where there is nothing. */
export function firstSentence(text: string, longest: number): string | null {
  const line = text.trim().split('\n', 1)[0]!.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return null;
  const sentence = /^.*?[.!?…。！？](?=\s|$)/u.exec(line)?.[0] ?? line;
  if ([...sentence].length <= longest) return sentence;
  // By characters, not by halves of them.
  const cut = [...sentence].slice(0, longest - 1).join('');
  const space = cut.lastIndexOf(' ');
  return `${(space > longest / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
