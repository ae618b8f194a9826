import { readFileSync } from 'node:fs';
import { openBrowser } from './browser.ts';

const [out, columns, ...files] = process.argv.slice(2);
const b = await openBrowser();
const p = await b.newPage({ viewport: { width: 1900, height: 1200 } });
const imgs = files.map(
  (f) =>
    `<figure style="margin:4px"><figcaption>${f}</figcaption><img style="width:100%;border:1px solid #888" src="data:image/png;base64,${readFileSync(`/tmp/shots/${f}.png`).toString('base64')}"></figure>`,
);
await p.setContent(
  `<body style="margin:0;font:12px sans-serif;display:grid;grid-template-columns:repeat(${columns},1fr);align-items:start">${imgs.join('')}</body>`,
);
await p.waitForTimeout(300);
await p.screenshot({ path: `/tmp/shots/${out}.png`, fullPage: true });
await b.close();
