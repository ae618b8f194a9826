import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function AuditPage() {
  return (
    <Page title="Audit">
      <Empty title="Not here yet" />
    </Page>
  );
}
