import type { SnapshotTool, Todo } from '@troupe/protocol';
import type { ToolContext, ToolExecute } from '../kernel/ports.ts';
import type { Outgoing } from '../outgoing/index.ts';

/** From a tool as a snapshot has it, with what is set for it, to what executes it. */
export type Provider = (tool: SnapshotTool) => ToolExecute | undefined;

/** For what tools name and nobody may see. */
export interface SecretValues {
  /** Null where the project has none of this name. */
  reveal(project: string, name: string): Promise<string | null>;
}

export interface FileInfo {
  path: string;
  size: number;
  type: string;
  createdAt: Date;
  updatedAt: Date;
}
/** The run on whose behalf is written: whoever lost it writes nothing. */
export type Writer = Pick<ToolContext, 'threadId' | 'runId' | 'epoch' | 'worker'>;

/** The files of a thread, by paths as `filePath` gives them. Writes throw where a limit is reached or the run is lost. */
export interface Files {
  /** The file of that path, or all below the directory; by path. */
  list(thread: string, path: string): Promise<FileInfo[]>;
  read(thread: string, path: string): Promise<(FileInfo & { content: Buffer }) | null>;
  write(writer: Writer, path: string, content: Buffer): Promise<{ created: boolean }>;
  delete(writer: Writer, path: string, recursive: boolean): Promise<number>;
  /** All or none; null deletes. */
  change(writer: Writer, changes: ReadonlyMap<string, Buffer | null>): Promise<void>;
}

export interface Todos {
  read(thread: string): Promise<Todo[]>;
  write(writer: Writer, todos: Todo[]): Promise<void>;
}

/** What tools need of the rest of the server. A tool whose parts are missing cannot be executed here. */
export interface ToolParts {
  now(): Date;
  secrets: SecretValues;
  outgoing: Outgoing;
  files: Files;
  todos: Todos;
}
