/**
 * models: what answers a step: the scripted model (tests), the demo model (no key needed), the registry.
 * One call, one answer; the loop, the retries and the tools belong to the kernel.
 * Imports: kernel/ports (types), base, protocol.
 * Start reading: registry.ts (a snapshot's model becomes a Model), demo/reply.ts (the rules), scripted/turn.ts.
 */
export { createDemo, type DemoOptions } from './demo/index.ts';
export { createModels, type ModelProvider } from './registry.ts';
export {
  createScripted,
  type Script,
  type Scripted,
  type ScriptedCall,
  type ScriptedError,
  type ScriptedOptions,
  type Turn,
} from './scripted/index.ts';
