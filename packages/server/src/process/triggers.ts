import { type Encryption, webhookKeys } from '../access/index.ts';
import type { Kernel } from '../kernel/index.ts';
import type { Database } from '../store/index.ts';
import { Engine, type EngineOptions } from '../triggers/index.ts';
import type { Program } from './program.ts';
import { secretsOf } from './tool-parts.ts';

/** What the engine gets of the rest of the server. */
export function engineParts(
  db: Database,
  encryption: Encryption,
  {
    outgoing,
    origins,
    kernel,
  }: { outgoing: EngineOptions['outgoing']; origins(): readonly string[]; kernel: Kernel | null },
): Omit<EngineOptions, 'logger'> {
  return {
    db,
    outgoing,
    secrets: secretsOf(db, encryption),
    ownKeys: (project) => webhookKeys(encryption, project),
    origin: () => origins()[0] ?? null,
    acts: kernel && { db, kernel },
    ...(kernel ? { onWritten: (listener: () => void) => kernel.onWritten(listener) } : {}),
  };
}

/** Without a kernel that works: delivers to this server's own address, which workers do not know, and nothing else. */
export function openTriggers(
  { life, logger, outgoing, place }: Program,
  db: Database,
  encryption: Encryption,
  kernel: Kernel | null,
): Promise<Engine> {
  const parts = engineParts(db, encryption, { outgoing, origins: () => place.origins, kernel });
  return life.open(
    'work',
    async () => {
      const engine = new Engine({ ...parts, logger });
      engine.start();
      return engine;
    },
    (engine, withinMs) => engine.close(Math.min(withinMs, 2_000)),
  );
}
