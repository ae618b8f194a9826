import { createModels, type Kernel } from '@troupe/server';
import { createScripted } from '@troupe/server/parts';
import { codeTools, plainDoor } from '@troupe/testing';

const echo = createScripted((request) => {
  const last = request.messages.findLast((message) => message.role === 'user');
  return { delayMs: 5, text: `re: ${last && 'text' in last ? last.text : ''}` };
});

/** Has a process work: its model answers every message with `re: …`, so slowly that no process does all alone. */
export async function work(kernel: Kernel): Promise<void> {
  await kernel.work({
    doors: [plainDoor],
    models: createModels({ scripted: echo.provider }),
    tools: codeTools({}),
    capacity: 4,
  });
}
