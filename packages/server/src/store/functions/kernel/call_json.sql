-- The JSON form of a ledger row for a worker.
-- Locks: none.
-- Called by: troupe.absorb, troupe.leave, troupe.take, store/queries/claim.ts.
create or replace function troupe.call_json(c troupe.tool_calls) returns jsonb language sql stable as $$
  select jsonb_build_object('id', c.call_id, 'step', c.step, 'position', c.position, 'tool', c.tool, 'args', c.args,
    'edited', c.edited, 'effect', c.effect,
    'status', c.status, 'waitsFor', c.waits_for, 'output', c.output, 'error', c.error, 'attempt', c.attempt,
    'epoch', c.epoch, 'shown', c.shown is not null)
$$;
