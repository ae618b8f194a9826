import type { ToolExecute } from '../../kernel/ports.ts';
import type { Provider, ToolParts } from '../ports.ts';
import { currentTime } from './current-time.ts';
import { fileTools } from './files/files.ts';
import { runCode } from './sandbox/run-code.ts';
import { todoTools } from './todos.ts';

/** The tools of capabilities, by the name that snapshots give them. */
export function builtinTools({
  now = () => new Date(),
  files,
  todos,
}: Partial<ToolParts>): Map<string, Provider> {
  const tools = new Map<string, Provider>([['current_time', () => currentTime(now)]]);
  const add = (group: Record<string, ToolExecute>) => {
    for (const [name, execute] of Object.entries(group)) tools.set(name, () => execute);
  };
  if (files) add(fileTools(files));
  if (todos) add(todoTools(todos));
  if (files) tools.set('run_code', runCode(files));
  return tools;
}
