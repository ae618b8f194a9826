export const KINDS = ['http', 'client', 'ui', 'static', 'echo', 'mcp', 'code', 'network', 'agent'] as const;
export type Kind = (typeof KINDS)[number];

/** Those that are made here; `mcp` comes by import, `code` from workers. */
export const MADE_KINDS = ['http', 'client', 'ui', 'static', 'echo', 'network', 'agent'] as const;

export const kindWords: Record<Kind, string> = {
  http: 'The server sends a request and gives the model what comes back.',
  client: 'A program of yours answers; the run waits for it.',
  ui: 'A person answers, in the page that shows the call.',
  static: 'Always the same answer, for calls that only show something.',
  echo: 'Answers with its arguments, for trying things out.',
  mcp: 'A tool of an MCP server.',
  code: 'A function of yours, in the process of a worker.',
  network: 'Runs a network, whose response is the result.',
  agent: 'Asks another agent, whose answer is the result.',
};
