/** On one line; null if the text is empty. */
export function firstSentence(text: string, longest: number): string | null {
  const line = text.trim().split('\n', 1)[0]!.replaceAll(/\s+/g, ' ').trim();
  if (line === '') return null;
  const sentence = /^.*?[.!?…。！？](?=\s|$)/u.exec(line)?.[0] ?? line;
  if ([...sentence].length <= longest) return sentence;
  // By code points, so that surrogate pairs stay whole.
  const cut = [...sentence].slice(0, longest - 1).join('');
  const space = cut.lastIndexOf(' ');
  return `${(space > longest / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
