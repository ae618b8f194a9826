import type { Json } from '@troupe/protocol';
import { Refusal } from '../../base/index.ts';

/** Encrypts what is secret; what was sealed for one project and name opens for no other. */
export interface Sealer {
  seal(project: string, name: string, value: string): Json;
  open(project: string, name: string, envelope: Json): string;
}

/** Null: the process has no key to encrypt with. */
export function requireSealer(sealer: Sealer | null): Sealer {
  if (sealer) return sealer;
  throw new Refusal(
    'conflict',
    'no_encryption_key',
    'A key cannot be stored: there is none to encrypt it with.',
    {
      hint: "Set the server's encryption key, or give the provider's key by the environment.",
    },
  );
}
