import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, sep } from 'node:path';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { named } from '../meters.ts';

/** Nothing from elsewhere, nothing inline but styles, in nobody's frame. What the page shows may come from a model. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
};

const ENCODINGS = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
];

interface Asset {
  bytes: Uint8Array<ArrayBuffer>;
  type: string;
  encoded: { name: string; bytes: Uint8Array<ArrayBuffer> }[];
}

/**
 * The console: its files by their names, and its one page for every address that a browser asks for a page at, so that a link into
 * the console can be opened. Goes after everything else, whose paths come first.
 */
export function consoleRoutes(folder: string | null): Hono {
  const routes = new Hono();
  let assets: Map<string, Asset> | undefined;
  const all = () => {
    assets ??= folder === null ? new Map() : readAssets(folder);
    return assets;
  };
  const page = (context: Context) => {
    const asset = all().get('/index.html');
    if (!asset) return context.html(NOT_BUILT, 200, { 'cache-control': 'no-store' });
    context.header('content-security-policy', POLICY);
    context.header('referrer-policy', 'no-referrer');
    context.header('cache-control', 'no-cache');
    return send(context, asset);
  };
  const files: MiddlewareHandler = async (context, next) => {
    const { method, path } = context.req;
    if (method !== 'GET' && method !== 'HEAD') return next();
    const asset = path === '/index.html' ? undefined : all().get(path);
    if (asset) {
      context.header(
        'cache-control',
        path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
      );
      return send(context, asset);
    }
    if (isPage(path) && context.req.header('accept')?.includes('text/html')) return page(context);
    return next();
  };
  routes.use('/', named('/'));
  routes.get('/', page);
  routes.get('/*', files);
  return routes;
}

/** Whatever belongs to a program says so itself when it is not there. */
function isPage(path: string): boolean {
  return !/^\/(v1|webhook|assets|mcp)(\/|$)/.test(path) && extname(path) === '';
}

function send(context: Context, asset: Asset): Response {
  const accepted = context.req.header('accept-encoding') ?? '';
  const encoded = asset.encoded.find(({ name }) => new RegExp(`\\b${name}\\b`).test(accepted));
  context.header('content-type', asset.type);
  if (asset.encoded.length > 0) context.header('vary', 'accept-encoding');
  if (encoded) context.header('content-encoding', encoded.name);
  return context.body(encoded?.bytes ?? asset.bytes);
}

/** All of it is some hundred kilobytes: read once, and then no request of a browser touches the disk. */
function readAssets(folder: string): Map<string, Asset> {
  const found = new Map<string, Asset>();
  const names = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }));
  for (const name of names) {
    const type = types[extname(name)];
    if (!type) continue;
    const encoded = ENCODINGS.filter(({ ending }) => names.has(name + ending)).map(
      ({ name: of, ending }) => ({
        name: of,
        bytes: new Uint8Array(readFileSync(join(folder, name + ending))),
      }),
    );
    const bytes = new Uint8Array(readFileSync(join(folder, name)));
    found.set(`/${name.split(sep).join('/')}`, { bytes, type, encoded });
  }
  return found;
}

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Troupe</title>
<h1>Troupe is running</h1>
<p>The console is not built here. <code>npm run console</code> builds it; then start the server again.</p>
<p>The API is described at <a href="/docs">/docs</a>.</p>
</html>
`;
