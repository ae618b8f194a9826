// The page of the tests: renders hooks, and shows the test what they give.
import * as hooks from '@troupe/react';
import { Troupe } from '@troupe/sdk';
import { createElement, Fragment, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

const { TroupeProvider } = hooks;
const roots = {};

Object.assign(window, { hooks, Troupe, createElement, results: {}, renders: {}, log: {} });
window.client = new Troupe({ baseUrl: window.location.origin });

function Probe({ name, use }) {
  const result = use(hooks, window.log[name]);
  window.renders[name]++;
  window.results[name] = result;
  return result?.view ?? null;
}

/** Renders a component that uses hooks, or the same with something else; what it gives is in `results[name]`, how often it was drawn in `renders[name]`. */
window.mount = (name, use, { strict = true, entityId, keepUnsent, client = window.client } = {}) => {
  window.renders[name] = 0;
  window.log[name] = [];
  roots[name] ??= createRoot(document.body.appendChild(document.createElement('div')));
  const probe = createElement(
    TroupeProvider,
    { client, entityId, keepUnsent },
    createElement(Probe, { name, use }),
  );
  roots[name].render(createElement(strict ? StrictMode : Fragment, null, probe));
};
window.unmount = (name) => {
  roots[name].unmount();
  delete roots[name];
};
window.unmountAll = () => Object.keys(roots).forEach(window.unmount);
window.isLoaded = true;
