import { getRouteApi } from '@tanstack/react-router';
import { Page } from '../../blocks/page.tsx';
import { TabPanel, Tabs } from '../../blocks/tabs.tsx';
import { KeyList } from './key-list.tsx';
import { SecretList } from './secret-list.tsx';
import { TokenRules } from './token-rules.tsx';

const route = getRouteApi('/keys');

export function KeysPage() {
  const { tab = 'keys' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page
      title="Keys and secrets"
      fill
      about="Who may call this server, what tools and webhooks are given, and how people are told apart."
    >
      <Tabs
        label="Keys and secrets"
        value={tab}
        onChange={(next) => void navigate({ search: next === 'keys' ? {} : { tab: next }, replace: true })}
        tabs={[
          { value: 'keys', label: 'Keys' },
          { value: 'secrets', label: 'Secrets' },
          { value: 'tokens', label: 'Tokens of people' },
        ]}
      >
        <TabPanel value={tab}>
          <div className="max-w-5xl">
            {tab === 'keys' && <KeyList />}
            {tab === 'secrets' && <SecretList />}
            {tab === 'tokens' && <TokenRules />}
          </div>
        </TabPanel>
      </Tabs>
    </Page>
  );
}
