import { defineConfig } from 'vite';

// `npx vite packages/ui/gallery` shows it while one works on components; the tests build it.
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  // React is that of the workspace, and there is one of it.
  resolve: { dedupe: ['react', 'react-dom'] },
});
