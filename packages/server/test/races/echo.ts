import { createModels, createScripted, type Kernel } from '@troupe/server';
import { codeTools, plainDoor } from '@troupe/testing';

const echo = createScripted((request) => ({
  text: `re: ${request.messages.findLast((message) => message.role === 'user')?.text}`,
}));

/** Has a process work: its model answers every message with `re: …`. */
export async function work(kernel: Kernel): Promise<void> {
  await kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: echo.provider }),
    tools: codeTools({}),
    capacity: 20,
  });
}
