import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** `npm run console` builds it for the server; `npx vite apps/console` serves it while it is worked on, with the API of a server on 4700. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwind()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // The server allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_500,
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/healthz', '/docs', '/openapi.json'].map((path) => [
        path,
        process.env.TROUPE_URL ?? 'http://localhost:4700',
      ]),
    ),
  },
});
