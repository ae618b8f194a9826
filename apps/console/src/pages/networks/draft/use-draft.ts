import { useQueryClient } from '@tanstack/react-query';
import { ApiError } from '@troupe/sdk';
import { useCallback, useEffect, useMemo, useReducer, useState } from 'react';
import { troupe } from '../../../data/client.ts';
import { type Definition, definitionOf } from './definition.ts';
import { begin, type History, take } from './history.ts';
import { merge } from './merge.ts';
import { same } from './same.ts';

export type Graph = Awaited<ReturnType<typeof troupe.networks.graph>>;

export interface Draft {
  networkId: string;
  definition: Definition;
  base: History['base'];
  isChanged: boolean;
  /** Archived networks are not edited. */
  isFixed: boolean;
  /** What somebody else made of it meanwhile, while there is something of mine to be lost. */
  theirs: History['base'] | null;
  canUndo: boolean;
  canRedo: boolean;
  edit(change: (definition: Definition) => Definition, tag?: string): void;
  undo(): void;
  redo(): void;
  discard(): void;
  /** Puts my changes on top of theirs; nothing is saved by that. */
  mergeTheirs(): void;
  takeTheirs(): void;
  /** Throws `network_changed` where somebody else was quicker; then `theirs` is there. */
  save(): Promise<void>;
}

/** A network as it is being edited in this page: kept while tabs change, saved as a whole. */
export function useDraft(graph: Graph): Draft {
  const client = useQueryClient();
  const server = useMemo(() => baseOf(graph), [graph]);
  const [history, dispatch] = useReducer(take, server, begin);
  const [theirs, setTheirs] = useState<History['base'] | null>(null);
  const { base, present } = history;
  const isChanged = useMemo(() => !same(base.definition, present), [base, present]);

  // What comes in is taken where nothing of mine would be lost. Publishing and archiving change the time, and nothing here.
  useEffect(() => {
    if (server.updatedAt === base.updatedAt || server.updatedAt < base.updatedAt) return;
    if (same(server.definition, base.definition)) dispatch({ type: 'rebase', base: server, present });
    else if (same(base.definition, present)) dispatch({ type: 'rebase', base: server });
    else setTheirs(server);
  }, [server, base, present]);

  const networkId = graph.network.id;
  const save = useCallback(async () => {
    const apply = (updatedAt: string) =>
      troupe.networks.apply({ params: { network: networkId }, query: { updatedAt }, body: present });
    try {
      const { network } = await apply(base.updatedAt);
      const saved = { definition: present, updatedAt: network!.updatedAt };
      dispatch({ type: 'rebase', base: saved, present });
      setTheirs(null);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'network_changed') {
        const now = baseOf(await troupe.networks.graph({ params: { network: networkId } }));
        // Such as a version that was published: nothing of the document is another.
        if (same(now.definition, base.definition)) {
          const { network } = await apply(now.updatedAt);
          dispatch({
            type: 'rebase',
            base: { definition: present, updatedAt: network!.updatedAt },
            present,
          });
          return;
        }
        setTheirs(now);
      }
      throw error;
    } finally {
      await client.invalidateQueries({ queryKey: ['networks'] });
    }
  }, [client, networkId, base, present]);

  return {
    networkId,
    definition: present,
    base,
    isChanged,
    isFixed: graph.network.status === 'archived',
    theirs,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    edit: useCallback(
      (change, tag) =>
        dispatch({ type: 'edit', change, now: Date.now(), ...(tag === undefined ? {} : { tag }) }),
      [],
    ),
    undo: useCallback(() => dispatch({ type: 'undo' }), []),
    redo: useCallback(() => dispatch({ type: 'redo' }), []),
    discard: useCallback(() => dispatch({ type: 'discard' }), []),
    mergeTheirs: () => {
      if (!theirs) return;
      const both = merge(base.definition, present, theirs.definition);
      dispatch({ type: 'rebase', base: theirs, present: both });
      setTheirs(null);
    },
    takeTheirs: () => {
      if (!theirs) return;
      dispatch({ type: 'rebase', base: theirs, present: theirs.definition });
      setTheirs(null);
    },
    save,
  };
}

function baseOf(graph: Graph): History['base'] {
  return { definition: definitionOf(graph), updatedAt: graph.network.updatedAt };
}
