/**
 * models: what answers a step: providers over the network, the demo model (no key needed), the scripted model (tests).
 * One call, one answer; the loop, the retries and the tools belong to the kernel.
 * Imports: kernel/ports (types), base, protocol; @ai-sdk/* in providers/.
 * Start reading: registry.ts (a snapshot's model becomes a Model), providers/providers.ts, demo/reply.ts (the
 * rules), scripted/turn.ts.
 */
export { createDemo } from './demo/index.ts';
export { oneCall } from './one-call.ts';
export { createProviders } from './providers/index.ts';
export { createScripted, type Script, type Scripted } from './scripted/index.ts';
