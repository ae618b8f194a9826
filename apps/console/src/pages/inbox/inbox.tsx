import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function InboxPage() {
  return (
    <Page title="Inbox">
      <Empty title="Not here yet" />
    </Page>
  );
}
