import { isDeepStrictEqual } from 'node:util';
import { type AgentDefinition, agentDefinition } from '@troupe/protocol';
import { type Format, joinFrontMatter, yaml } from './formats.ts';

/** A file that reads as exactly this definition. Fields that are what they would be anyway are left out. */
export function writeFile(definition: AgentDefinition, format: Format): string {
  const fields = withoutDefaults(definition);
  if (format === 'json') return `${JSON.stringify(fields, null, 2)}\n`;
  if (format === 'yaml') return toYaml(fields);
  const { systemPrompt = '', ...front } = fields;
  return joinFrontMatter(toYaml(front), systemPrompt);
}

function withoutDefaults(definition: AgentDefinition): Partial<AgentDefinition> {
  const plain: Record<string, unknown> = agentDefinition.parse({ name: definition.name });
  return Object.fromEntries(
    Object.entries(definition).filter(
      ([field, value]) => field === 'name' || !isDeepStrictEqual(value, plain[field]),
    ),
  );
}

/** Text as people write it where that reads as the same again; else quoted as in JSON, which always does. */
function toYaml(fields: object): string {
  const pretty = yaml().stringify(fields, { lineWidth: 0, aliasDuplicateObjects: false });
  if (readsAs(pretty, fields)) return pretty;
  return yaml().stringify(fields, {
    lineWidth: 0,
    aliasDuplicateObjects: false,
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'QUOTE_DOUBLE',
    doubleQuotedAsJSON: true,
  });
}

function readsAs(text: string, fields: object): boolean {
  try {
    return isDeepStrictEqual(yaml().parse(text), JSON.parse(JSON.stringify(fields))) && !/^---/m.test(text);
  } catch {
    return false;
  }
}
