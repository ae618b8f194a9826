import { json, table } from '../output.ts';
import type { Command } from './command.ts';

export const capabilities: Record<string, Command> = {
  async list({ troupe, terminal, options }) {
    const { data } = await troupe.capabilities.list();
    terminal.out(options.json ? json(data) : table(data, ['id', 'status', 'description']));
  },
};
