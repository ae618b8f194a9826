/**
 * ui: components, to be used with one style sheet (`@troupe/ui/style.css`). What draws graphs is apart (`@troupe/ui/graph`), since it is large.
 * Imports: react.
 */
export {};
