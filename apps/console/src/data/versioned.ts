import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '@troupe/sdk';
import { useState } from 'react';

interface Versioned<Row, Draft, Body extends object> {
  /** As it is on the server, as far as is known here. */
  row: Row;
  queryKey: readonly unknown[];
  draftOf: (row: Row) => Draft;
  /** What a draft that was begun on `base` says. */
  bodyOf: (draft: Draft, base: Row) => Body;
  read: () => Promise<Row>;
  update: (changes: Partial<Body>, baseVersion: number) => Promise<Row>;
  onSaved: (saved: Row) => void | Promise<void>;
}

/**
 * A draft of what has versions. Only the fields are sent that were changed, on the version that they were changed on: where somebody else
 * saved meanwhile, the server refuses, and whoever edits sees both (`conflict`).
 */
export function useVersioned<Row extends { version: number }, Draft, Body extends object>({
  row,
  queryKey,
  draftOf,
  bodyOf,
  read,
  update,
  onSaved,
}: Versioned<Row, Draft, Body>) {
  const [base, setBase] = useState(row);
  const [draft, setDraft] = useState(() => draftOf(row));
  const [beginnings, setBeginnings] = useState(0);
  const [compares, setCompares] = useState(false);
  const client = useQueryClient();
  const saidBy = (one: Row) => bodyOf(draftOf(one), one);
  const changes = changesOf(saidBy(base), bodyOf(draft, base));
  const isChanged = Object.keys(changes).length > 0;
  const startFrom = (now: Row) => {
    setBase(now);
    setDraft(draftOf(now));
    setBeginnings((before) => before + 1);
    setCompares(false);
  };
  const save = useMutation({
    mutationFn: (baseVersion: number) => update(changes, baseVersion),
    onSuccess: async (saved) => {
      client.setQueryData(queryKey, saved);
      startFrom(saved);
      await onSaved(saved);
    },
    onError: async (error) => {
      if (!isConflict(error)) return;
      client.setQueryData(queryKey, await read());
      setCompares(true);
    },
  });
  return {
    draft,
    change: (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part })),
    isChanged,
    /** Fields that keep a text of their own begin anew with another key. */
    key: beginnings,
    base,
    /** Where somebody else saved, and nothing of ours is in the way: to be called while drawing. */
    follow: (isTouched: boolean) => {
      if (row.version <= base.version) return;
      if (!isTouched) startFrom(row);
      // A version that says the same here, such as of a rule that was turned off, is in nobody's way.
      else if (Object.keys(changesOf(saidBy(base), saidBy(row))).length === 0) setBase(row);
    },
    save: () => save.mutate(base.version),
    discard: () => {
      save.reset();
      startFrom(row);
    },
    isSaving: save.isPending,
    error: isConflict(save.error) ? null : save.error,
    conflict: compares
      ? {
          version: row.version,
          before: asText(saidBy(row)),
          after: asText({ ...saidBy(row), ...changes }),
          busy: save.isPending,
          onClose: () => setCompares(false),
          onTakeTheirs: () => startFrom(row),
          onSaveMine: () => save.mutate(row.version),
        }
      : null,
  };
}

const isConflict = (error: unknown) => error instanceof ApiError && error.code === 'version_conflict';

const asText = (body: object) => JSON.stringify(body, null, 2);

/** The fields that differ, for a change that leaves the others alone. */
function changesOf<Body extends object>(before: Body, after: Body): Partial<Body> {
  const fields = Object.entries(after) as [keyof Body, unknown][];
  return Object.fromEntries(
    fields.filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field])),
  ) as Partial<Body>;
}
