import { type Json, typing } from '@troupe/protocol';
import { z } from 'zod';
import { TYPING } from './frame.ts';

/** What is said to another process and kept nowhere. That may be of another version. */
const passing = z.object({ thread: z.string(), passing: z.literal(TYPING), data: typing });

export function isPassing(value: Json): value is Json & z.infer<typeof passing> {
  return passing.safeParse(value).success;
}
