import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const source = (path: string) =>
  fileURLToPath(new URL(`../../packages/${path}/src/index.ts`, import.meta.url));

/** The page and the server share an origin, so that a browser lets them talk. */
export default defineConfig({
  server: { proxy: { '/v1': process.env.TROUPE_URL ?? 'http://localhost:4700' } },
  // The SDK from this repository; your app has it from its own node_modules.
  resolve: { alias: { '@troupe/sdk': source('sdk'), '@troupe/protocol': source('protocol') } },
  build: { target: 'es2022' },
});
