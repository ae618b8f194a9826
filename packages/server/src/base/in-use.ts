import { Refusal } from './errors.ts';

export function inUse(what: string, uses: string[]): Refusal {
  return new Refusal('conflict', 'in_use', `The ${what} is in use by ${uses.join(', ')}.`, {
    hint: 'Change these first, or disable it.',
  });
}
