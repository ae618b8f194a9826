import { type Encryption, secretOf } from '../access/index.ts';
import { fileType } from '../base/index.ts';
import { createOutgoing } from '../outgoing/index.ts';
import * as store from '../store/index.ts';
import type { Files, Todos, ToolParts } from '../tools/index.ts';

/** What the tools get of the rest of the server: one field for each part, made here and nowhere else. */
export function toolParts(db: store.Database, encryption: Encryption): Partial<ToolParts> {
  return {
    now: () => new Date(),
    secrets: { reveal: (project, name) => secretOf(db, encryption, project, name) },
    files: filesOf(db),
    todos: todosOf(db),
    outgoing: createOutgoing({ allowed: (project) => store.allowedOutgoing(db, project) }),
  };
}

function filesOf(db: store.Database): Files {
  return {
    list: (thread, path) => store.listFiles(db, thread, path),
    read: (thread, path) => store.readFile(db, thread, path),
    write: (writer, path, content) =>
      store.writeFile(db, writer.threadId, writer, { path, content, type: fileType(path, content) }),
    delete: (writer, path, recursive) => store.deleteFiles(db, writer.threadId, writer, path, recursive),
    change: (writer, changes) =>
      store.changeFiles(
        db,
        writer.threadId,
        writer,
        [...changes].map(([path, content]) => ({
          path,
          content,
          type: content ? fileType(path, content) : '',
        })),
      ),
  };
}

function todosOf(db: store.Database): Todos {
  return {
    read: async (thread) => (await store.readTodos(db, thread)).todos,
    write: (writer, todos) => store.writeTodos(db, writer.threadId, writer, todos),
  };
}
