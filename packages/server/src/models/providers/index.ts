/**
 * providers: models over the network, on the provider packages of the AI SDK (`LanguageModelV4.doStream`), one call for
 * one step. No loop and no retries: those are the kernel's.
 * Imports: as the room, and @ai-sdk/*.
 * Start reading: providers.ts (from a snapshot's model to a call), call.ts (one call), failures.ts (what errors become).
 */
export {
  createProviders,
  type ProviderKeys,
  type ProviderRecord,
  type ProviderSource,
  type ProvidersOptions,
} from './providers.ts';
