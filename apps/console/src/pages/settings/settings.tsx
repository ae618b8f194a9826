import { Page } from '../../blocks/page.tsx';
import { Empty } from '../../blocks/states.tsx';

export function SettingsPage() {
  return (
    <Page title="Settings">
      <Empty title="Not here yet" />
    </Page>
  );
}
