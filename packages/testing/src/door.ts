import { toModelMessages } from '@troupe/server';
import { createPlainDoor } from './plain-door.ts';

export const plainDoor = createPlainDoor(toModelMessages);
