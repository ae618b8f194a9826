const DOT =
  'data:image/svg+xml,%3Csvg%20xmlns=%22http://www.w3.org/2000/svg%22%20width=%22240%22%20height=%2280%22%3E%3Crect%20width=%22240%22%20height=%2280%22%20fill=%22%238e80f5%22/%3E%3Ccircle%20cx=%22120%22%20cy=%2240%22%20r=%2224%22%20fill=%22white%22/%3E%3C/svg%3E';

/** All that markdown has, and all that must not get through it. */
export const MARKDOWN = `# A heading of the first order

Some **bold**, some *slanted*, some \`inline code\`, ~~gone~~ and [a link](https://example.com/path?a=1 "title"), a bare one https://example.com/bare.

## Lists

1. First
2. Second
   - nested, with a very long word: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft
   - nested again
3. Third

- [x] done
- [ ] to do

> A quotation
> over two lines.

### A table

| Model | Tokens | Cost | Remark |
|:------|-------:|:----:|--------|
| small | 1,024 | 0.01 | fast, and cheap enough to be called for every message of a busy space |
| large | 128,000 | 4.20 | slow |

\`\`\`ts
export function add(one: number, other: number): number {
  return one + other; // a comment that makes this line rather long, so that it has to be scrolled sideways in its box
}
\`\`\`

    indented code

A picture from elsewhere: ![a tracking pixel](https://tracker.invalid/pixel.png?who=you) and one that is here: ![a dot](${DOT})

---

<b onclick="window.hacked = 1">HTML</b> is text. <img src=x onerror="window.hacked = 2"> <script>window.hacked = 3</script>

[click me](javascript:window.hacked=4) [or me](JaVaScRiPt:window.hacked=5) [data](data:text/html,<script>window.hacked=6</script>)
<a href="javascript:window.hacked=7">raw</a> <picture><source srcset="https://tracker.invalid/set.png"><img src="https://tracker.invalid/raw.png"></picture>
<iframe src="https://tracker.invalid/frame"></iframe><style>@import "https://tracker.invalid/style.css";</style>

\`\`\`mermaid
graph TD; A-->B
\`\`\`

At the end a footnote[^1], since a text that has one is drawn as a whole with every piece.

[^1]: Which says more.
`;
