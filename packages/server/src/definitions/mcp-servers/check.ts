import type { McpServerDefinition } from '@troupe/protocol';
import { messageOf, Refusal, templateOf } from '../../base/index.ts';
import { addressProblem, TAKEN_HEADERS } from '../tools/index.ts';
import type { McpPort } from './port.ts';

interface Issue {
  path: string;
  message: string;
}

/** These say how the two of them talk, which is the transport's to say. */
const OF_THE_TRANSPORT = new Set(['accept', 'content-type', 'last-event-id']);
/**
 * With these, whoever defines a server could make an allowed program load or start another one. PATH and HOME are those of the server's
 * process.
 */
const STEERING =
  /^(TROUPE_|LD_|DYLD_|NODE_|NPM_CONFIG_|DENO_|BUN_|PYTHON|UV_|PIP_|PIPX_|PERL|RUBY|GEM_|BUNDLE_|JAVA_|_JAVA_|JDK_|DOTNET_|CORECLR_|COMPLUS_|PHP|LUA_|OPENSSL_|BASH_|GIT_|DOCKER_|GLIBC_|GTK_|QT_|ELECTRON_)|^(PATH|HOME|ENV|IFS|PS4|SHELL|SHELLOPTS|PROMPT_COMMAND|CLASSPATH|GCONV_PATH|LOCPATH|MALLOC_CHECK_|SSLKEYLOGFILE|EDITOR|VISUAL|PAGER|BROWSER|XDG_CONFIG_HOME|XDG_DATA_HOME|XDG_DATA_DIRS|XDG_CONFIG_DIRS)$/i;

/** Everything that can be wrong with a server beyond its shape. */
export function checkMcpServer(definition: McpServerDefinition): void {
  const issues = [...transportIssues(definition), ...textIssues(definition)];
  const [first] = issues;
  if (!first) return;
  const detail = `The server cannot be defined so: "${first.path}" ${first.message}.`;
  throw new Refusal('invalid', 'mcp_server_invalid', detail, { issues });
}

/** Refuses a program that the operator does not allow. What is allowed now need not be so when it is started; that is looked at then. */
export async function checkCommand(
  project: string,
  command: string | null | undefined,
  mcp: McpPort,
): Promise<void> {
  if (command == null || (await mcp.allows(project, command))) return;
  throw new Refusal(
    'invalid',
    'mcp_command_not_allowed',
    `Programs run on the machine of the server, and "${command.slice(0, 200)}" is none of those that its operator allows the project.`,
    {
      hint: 'Whoever runs the server can allow it with TROUPE_MCP_COMMANDS.',
      issues: [{ path: 'command', message: 'is not allowed' }],
    },
  );
}

function transportIssues({ transport, url, headers, command, args, env }: McpServerDefinition): Issue[] {
  const http = transport === 'http';
  const issues: (Issue | false)[] = [
    http && url === null && { path: 'url', message: 'is required for http' },
    !http && command === null && { path: 'command', message: 'is required for stdio' },
    !http && url !== null && { path: 'url', message: 'is for http' },
    !http && Object.keys(headers).length > 0 && { path: 'headers', message: 'is for http' },
    http && command !== null && { path: 'command', message: 'is for stdio' },
    http && args.length > 0 && { path: 'args', message: 'is for stdio' },
    http && Object.keys(env).length > 0 && { path: 'env', message: 'is for stdio' },
  ];
  return issues.filter((issue) => issue !== false);
}

function textIssues({ url, headers, args, env }: McpServerDefinition): Issue[] {
  const issues: Issue[] = [];
  const read = (path: string, text: string): void => {
    try {
      if (text.includes('\0')) issues.push({ path, message: 'must not hold a NUL character' });
      if (templateOf(text).some(({ from }) => from === 'input'))
        issues.push({
          path,
          message: 'may hold {{secrets.NAME}}; there is no input when a server is connected to',
        });
    } catch (error) {
      issues.push({ path, message: messageOf(error) });
    }
  };
  if (url !== null) {
    read('url', url);
    const problem = addressProblem(url);
    if (problem) issues.push({ path: 'url', message: problem });
  }
  for (const [name, text] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (TAKEN_HEADERS.has(lower) || OF_THE_TRANSPORT.has(lower) || lower.startsWith('mcp-'))
      issues.push({ path: `headers.${name}`, message: 'is set by Troupe itself' });
    read(`headers.${name}`, text);
  }
  for (const [index, text] of args.entries()) read(`args.${index}`, text);
  for (const [name, text] of Object.entries(env)) {
    if (STEERING.test(name))
      issues.push({ path: `env.${name}`, message: 'could change which program is run, and cannot be set' });
    read(`env.${name}`, text);
  }
  return issues;
}
