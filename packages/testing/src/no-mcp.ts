/** For tests in which nobody speaks to an MCP server. */
export const noMcp = {
  allows: async () => false,
  offerOf: async () => {
    throw new Error('no MCP server is spoken to in this test');
  },
};
