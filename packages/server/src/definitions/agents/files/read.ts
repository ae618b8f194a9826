import { type AgentDefinition, newAgent } from '@troupe/protocol';
import { checkStorable, inWords, messageOf, Refusal } from '../../../base/index.ts';
import { type Format, formatOf, splitFrontMatter, yaml } from './formats.ts';

/** What a file says; refused with the names of all that is unknown or wrong in it. */
export function readFile(text: string, mediaType: string): AgentDefinition {
  const format = formatOf(text, mediaType);
  const document = documentIn(text, format);
  checkStorable(document);
  const parsed = newAgent.safeParse(document, { error: inWords });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues
    .slice(0, 50)
    .map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  const said = issues.map(({ path, message }) => (path ? `"${path}": ${message}` : message)).join('; ');
  throw new Refusal('invalid', 'invalid_request', `The file does not describe an agent: ${said}.`, {
    issues,
  });
}

/** What is in a file of YAML or JSON. */
export function readDocument(text: string): unknown {
  return documentIn(text, /^\s*\{/.test(text) ? 'json' : 'yaml');
}

function documentIn(text: string, format: Format): unknown {
  if (format === 'json') return fromJson(text);
  if (format === 'yaml') return fromYaml(text);
  const split = splitFrontMatter(text);
  if (!split) {
    throw unreadable('Markdown begins with front matter: YAML between two lines of ---.');
  }
  const front = fromYaml(split.front);
  if (typeof front !== 'object' || front === null || Array.isArray(front)) {
    throw unreadable('The front matter must be a list of fields, such as "name: helper".');
  }
  if (Object.hasOwn(front, 'systemPrompt')) {
    throw unreadable('In Markdown the body is the system prompt: take systemPrompt out of the front matter.');
  }
  return { ...front, systemPrompt: split.body };
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadable(`It is no JSON: ${messageOf(error)}.`, error);
  }
}

/** Values only: no aliases (a few lines of them can stand for gigabytes) and no tags. */
function fromYaml(text: string): unknown {
  let problem: unknown;
  try {
    const document = yaml().parseDocument(text, { prettyErrors: true, uniqueKeys: true, schema: 'core' });
    problem = document.errors[0] ?? document.warnings[0];
    if (!problem) return document.toJS({ maxAliasCount: 0 });
  } catch (error) {
    problem = error;
  }
  const [line] = messageOf(problem).split('\n');
  throw unreadable(`It is no YAML that can be read: ${line?.replace(/:$/, '')}.`, problem);
}

function unreadable(why: string, cause?: unknown): Refusal {
  return new Refusal('invalid', 'import_unreadable', `The file cannot be read. ${why}`, {
    hint: 'GET …/export shows what a file looks like.',
    cause,
  });
}
