import { z } from 'zod';

/** `http`: the server calls an address. `client`, `ui`: somebody outside answers. `static`: always the same output. */
export const toolKind = z.enum(['http', 'client', 'ui', 'static']);
export type ToolKind = z.infer<typeof toolKind>;
