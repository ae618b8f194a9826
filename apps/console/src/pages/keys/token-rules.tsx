import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { Api } from '@troupe/sdk';
import { useState } from 'react';
import { Button } from '../../blocks/button.tsx';
import { Checkbox, TextField } from '../../blocks/field.tsx';
import { Confirm, Form } from '../../blocks/form.tsx';
import { Issue } from '../../blocks/form-errors.tsx';
import { Card } from '../../blocks/page.tsx';
import { Loaded } from '../../blocks/states.tsx';
import { say } from '../../blocks/toast.tsx';
import { troupe } from '../../data/client.ts';
import { projectQuery } from '../../data/project.ts';
import { secretsQuery } from '../../data/queries.ts';

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
  return (
    <Card title="Tokens of people">
      <Form
        label="Tokens of people"
        submit="Save token rules"
        actions={
          rules && (
            <Button kind="danger" onClick={() => setRemoves(true)}>
              Reject all tokens
            </Button>
          )
        }
        act={() =>
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
          })
        }
        onDone={(project) => {
          say('Saved the token rules.');
          client.setQueryData(projectQuery.queryKey, project);
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
                onChange={(checked) =>
                  setAlgorithms(
                    checked ? [...algorithms, algorithm] : algorithms.filter((one) => one !== algorithm),
                  )
                }
              />
            ))}
          </div>
          <Issue path="tokens.algorithms" />
        </fieldset>
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Audience (aud)"
            path="tokens.audience"
            required
            maxLength={500}
            value={audience}
            onChange={setAudience}
          />
          <TextField
            label="Issuer (iss)"
            hint="Empty: any."
            path="tokens.issuer"
            maxLength={500}
            value={issuer}
            onChange={setIssuer}
          />
          {isShared && (
            <TextField
              label="Secret for HS algorithms"
              hint="The name of a secret of at least 32 bytes."
              path="tokens.secretName"
              mono
              suggestions={(secrets ?? []).map(({ name }) => name)}
              value={secretName}
              onChange={setSecretName}
            />
          )}
          {isPublished && (
            <TextField
              label="Address of the published keys (JWKS)"
              hint="For RS, ES and EdDSA."
              path="tokens.jwksUrl"
              placeholder="https://login.example.com/.well-known/jwks.json"
              mono
              value={jwksUrl}
              onChange={setJwksUrl}
            />
          )}
          <TextField
            label="Claim that names the person"
            path="tokens.claim"
            required
            maxLength={100}
            value={claim}
            onChange={setClaim}
          />
        </div>
      </Form>
      <Confirm
        open={removes}
        onClose={() => setRemoves(false)}
        title="Reject all tokens of people?"
        label="Reject all tokens"
        act={async () => {
          const project = await troupe.access.updateProject({ body: { tokens: null } });
          client.setQueryData(projectQuery.queryKey, project);
        }}
      >
        People who use the API with a token lose access at once.
      </Confirm>
    </Card>
  );
}
