import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Confirm } from '../../blocks/dialog.tsx';
import { Checkbox, Field, Input } from '../../blocks/field.tsx';
import { Card } from '../../blocks/page.tsx';
import { Loaded, Notice } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { issueAt, restOf } from '../../data/issues.ts';
import { projectQuery } from '../../data/project.ts';
import { secretsQuery } from '../../data/secrets.ts';

const shared = ['HS256', 'HS384', 'HS512'] as const;
const published = ['RS256', 'ES256', 'EdDSA'] as const;
type Algorithm = Api.TokenRules['algorithms'][number];

/** How tokens of people are checked, which your own system gives them. */
export function TokenRules() {
  const query = useQuery(projectQuery);
  return (
    <Loaded query={query}>
      {(project) => <Rules key={JSON.stringify(project.tokens)} rules={project.tokens} />}
    </Loaded>
  );
}

function Rules({ rules }: { rules: Api.TokenRules | null }) {
  const [algorithms, setAlgorithms] = useState<Algorithm[]>(rules?.algorithms ?? ['HS256']);
  const [audience, setAudience] = useState(rules?.audience ?? '');
  const [issuer, setIssuer] = useState(rules?.issuer ?? '');
  const [secretName, setSecretName] = useState(rules?.secretName ?? '');
  const [jwksUrl, setJwksUrl] = useState(rules?.jwksUrl ?? '');
  const [claim, setClaim] = useState(rules?.claim ?? 'sub');
  const [removes, setRemoves] = useState(false);
  const { data: secrets } = useQuery(secretsQuery);
  const client = useQueryClient();
  const isShared = shared.some((one) => algorithms.includes(one));
  const isPublished = published.some((one) => algorithms.includes(one));
  const save = useMutation({
    mutationFn: () =>
      troupe.access.updateProject({
        body: {
          tokens: {
            algorithms,
            audience,
            issuer: issuer.trim() || null,
            secretName: isShared ? secretName.trim() || null : null,
            jwksUrl: isPublished ? jwksUrl.trim() || null : null,
            claim,
          },
        },
      }),
    onSuccess: (project) => {
      say('Tokens are checked so from now on.');
      client.setQueryData(projectQuery.queryKey, project);
    },
  });
  const at = (field: string) => issueAt(save.error, `tokens.${field}`);
  const rest = restOf(
    save.error,
    ['algorithms', 'audience', 'issuer', 'secretName', 'jwksUrl', 'claim'].map((field) => `tokens.${field}`),
  );
  return (
    <Card title="Tokens of people">
      <form
        aria-label="Tokens of people"
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <p className="text-sm text-muted">
          People use the API from a browser with a public key and a token (JWT) that your system gives them.
          They reach what belongs to them.{' '}
          {!rules && (
            <strong className="font-medium text-text">
              None is accepted until you say how to check them.
            </strong>
          )}
        </p>
        <fieldset>
          <legend className="mb-1 text-xs font-medium text-muted">Algorithms</legend>
          <div className="flex flex-wrap gap-4">
            {[...shared, ...published].map((algorithm) => (
              <Checkbox
                key={algorithm}
                label={algorithm}
                checked={algorithms.includes(algorithm)}
                onChange={({ target }) =>
                  setAlgorithms(
                    target.checked
                      ? [...algorithms, algorithm]
                      : algorithms.filter((one) => one !== algorithm),
                  )
                }
              />
            ))}
          </div>
          {at('algorithms') && <p className="mt-1 text-xs text-bad">{at('algorithms')}</p>}
        </fieldset>
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Audience (aud)" error={at('audience')}>
            {(ids) => (
              <Input
                {...ids}
                required
                maxLength={500}
                value={audience}
                onChange={({ target }) => setAudience(target.value)}
              />
            )}
          </Field>
          <Field label="Issuer (iss)" hint="Empty: any." error={at('issuer')}>
            {(ids) => (
              <Input
                {...ids}
                maxLength={500}
                value={issuer}
                onChange={({ target }) => setIssuer(target.value)}
              />
            )}
          </Field>
          {isShared && (
            <Field
              label="Secret for HS algorithms"
              hint="Its name among the secrets; 32 bytes at least."
              error={at('secretName')}
            >
              {(ids) => (
                <>
                  <Input
                    {...ids}
                    list={`${ids.id}-names`}
                    value={secretName}
                    onChange={({ target }) => setSecretName(target.value)}
                    className="font-mono text-xs"
                  />
                  <datalist id={`${ids.id}-names`}>
                    {(secrets ?? []).map(({ name }) => (
                      <option key={name} value={name} />
                    ))}
                  </datalist>
                </>
              )}
            </Field>
          )}
          {isPublished && (
            <Field
              label="Address of the published keys (JWKS)"
              hint="For RS, ES and EdDSA."
              error={at('jwksUrl')}
            >
              {(ids) => (
                <Input
                  {...ids}
                  placeholder="https://login.example.com/.well-known/jwks.json"
                  value={jwksUrl}
                  onChange={({ target }) => setJwksUrl(target.value)}
                  className="font-mono text-xs"
                />
              )}
            </Field>
          )}
          <Field label="Claim that names the person" error={at('claim')}>
            {(ids) => (
              <Input
                {...ids}
                required
                maxLength={100}
                value={claim}
                onChange={({ target }) => setClaim(target.value)}
              />
            )}
          </Field>
        </div>
        {rest && <Notice tone="bad">{rest}</Notice>}
        <div className="flex justify-end gap-2">
          {rules && (
            <Button kind="danger" onClick={() => setRemoves(true)}>
              Accept none
            </Button>
          )}
          <Button type="submit" kind="primary" busy={save.isPending}>
            Save
          </Button>
        </div>
      </form>
      <Confirm
        open={removes}
        onClose={() => setRemoves(false)}
        title="Accept no tokens of people?"
        label="Accept none"
        act={async () => {
          const project = await troupe.access.updateProject({ body: { tokens: null } });
          client.setQueryData(projectQuery.queryKey, project);
        }}
      >
        People who use the API with a token are refused at once.
      </Confirm>
    </Card>
  );
}
