/** Vite puts style sheets in place. */
declare module '*.css';
