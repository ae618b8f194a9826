import { createHash } from 'node:crypto';

// What scripted agents read of their prompts; beside nothing else, so that a worker process has little to import.

export const nameIn = (system: string) => /^- name: "(.*)"$/m.exec(system)![1]!;
export const triggerIn = (system: string) =>
  JSON.parse(/^- message: (".*")$/m.exec(system)?.[1] ?? '""') as string;
export const senderTypeIn = (system: string) => /^- sender: ".*" \((human|agent), /m.exec(system)?.[1];

/** From 0 to 1, always the same for the same words. */
export function chance(words: string): number {
  return createHash('sha256').update(words).digest().readUInt32BE() / 0xffff_ffff;
}
