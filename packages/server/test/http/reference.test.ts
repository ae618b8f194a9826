import { allEndpoints } from '@troupe/protocol';
import { expect, it } from 'vitest';
import { docsPage } from '../../src/http/docs-page.ts';
import { openApiOf } from '../../src/http/openapi.ts';

const document = openApiOf(allEndpoints(), { version: '1.2.3' }) as {
  openapi: string;
  paths: Record<string, Record<string, { operationId: string; parameters: { name: string; in: string }[] }>>;
};

it('every endpoint is in the document, once, with all parameters of its path', () => {
  expect(document.openapi).toBe('3.1.0');
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
  expect(operations).toHaveLength(allEndpoints().length);
  expect(new Set(operations.map((operation) => operation.operationId)).size).toBe(operations.length);
  for (const { path, parameters } of operations) {
    const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
    expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
  }
});

it('nothing in the document refers to what is not in it', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!);
  expect(new Set(references)).toEqual(new Set(['#/components/schemas/Problem']));
});

it('the page names every endpoint and asks nothing of other hosts', () => {
  const page = docsPage(allEndpoints(), { version: '1.2.3' });
  for (const { path, summary } of allEndpoints()) {
    expect(page).toContain(path);
    expect(page).toContain(summary.replaceAll('"', '&quot;'));
  }
  expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(page).not.toMatch(/<script/);
});
