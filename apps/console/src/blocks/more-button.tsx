import { Button } from './button.tsx';

/** Below a list that has another page. */
export function MoreButton({
  list,
}: {
  list: { hasMore: boolean; isLoadingMore: boolean; loadMore: () => void };
}) {
  if (!list.hasMore) return null;
  return (
    <div className="flex justify-center border-t border-line p-3">
      <Button kind="quiet" busy={list.isLoadingMore} onClick={list.loadMore}>
        Load more
      </Button>
    </div>
  );
}
