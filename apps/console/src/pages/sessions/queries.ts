import { queryOptions } from '@tanstack/react-query';
import { troupe } from '../../data/client.ts';

export const sessionQuery = (agentId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['sessions', 'one', sessionId],
    queryFn: () => troupe.sessions.get({ params: { agentId, sessionId } }),
  });

export const filesQuery = (agentId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['sessions', 'files', sessionId],
    queryFn: () => troupe.files.list({ params: { agentId, sessionId }, query: {} }),
  });

export const todosQuery = (agentId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['sessions', 'todos', sessionId],
    queryFn: () => troupe.todos.get({ params: { agentId, sessionId } }),
  });

export const findingsQuery = (agentId: string, sessionId: string) =>
  queryOptions({
    queryKey: ['sessions', 'findings', sessionId],
    queryFn: () => troupe.findings.list({ params: { agentId, sessionId } }),
  });
