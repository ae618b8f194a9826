/** ui/graph: networks as graphs. */
export {};
