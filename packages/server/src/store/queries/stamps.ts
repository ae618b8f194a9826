// Rows that are copied to clients carry the stamp of the transaction that wrote them last (`troupe.stamp`): its id plus
// an offset, which keeps the order after a restore into another cluster.

/** All transactions with a lower stamp have ended, as of the snapshot of the statement. */
export const BELOW = '(pg_snapshot_xmin(pg_current_snapshot())::text::bigint + troupe.stamp_offset())';
/** No transaction that the statement can see has this stamp or a higher one. */
export const NEXT = '(pg_snapshot_xmax(pg_current_snapshot())::text::bigint + troupe.stamp_offset())';
