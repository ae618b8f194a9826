import type { ToolExecute } from '../../kernel/ports.ts';
import type { Provider, ToolParts } from '../ports.ts';
import { currentTime } from './current-time.ts';
import { fileTools } from './files/files.ts';
import { listFindings, noteFinding } from './findings.ts';
import { memoryTools } from './memory.ts';
import { planTools } from './plans.ts';
import { runCode } from './sandbox/run-code.ts';
import { todoTools } from './todos.ts';
import { webFetch } from './web-fetch.ts';
import { webSearch } from './web-search.ts';

/** The tools of capabilities, by the name that snapshots give them. One whose parts are missing is not there. */
export function builtinTools(parts: Partial<ToolParts>): Map<string, Provider> {
  const { now = () => new Date(), outgoing, secrets, findings, memory, plans, files, todos, ofDoors } = parts;
  const tools = new Map<string, Provider>([['current_time', () => currentTime(now)]]);
  const add = (group: Record<string, ToolExecute>) => {
    for (const [name, execute] of Object.entries(group)) tools.set(name, () => execute);
  };
  if (files) add(fileTools(files));
  if (files) tools.set('run_code', runCode(files));
  if (todos) add(todoTools(todos));
  if (outgoing) tools.set('web_fetch', () => webFetch(outgoing));
  if (outgoing && secrets) tools.set('web_search', (tool) => webSearch(tool, { outgoing, secrets }));
  if (findings) {
    tools.set('note_finding', () => noteFinding(findings));
    tools.set('list_findings', () => listFindings(findings));
  }
  for (const [name, provider] of memory ? memoryTools(memory) : []) tools.set(name, provider);
  for (const [name, provider] of plans ? planTools(plans) : []) tools.set(name, provider);
  if (ofDoors) add(ofDoors);
  return tools;
}
