import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './gallery.css';
import { sections } from './sections.tsx';
import { Whole } from './whole.tsx';

// Everything that there is, in all its states: `?theme=dark`, `?only=Tools`. With `?session=` or `?space=` and a server: the connected ones.
const query = new URLSearchParams(location.search);
document.documentElement.dataset.theme = query.get('theme') ?? 'light';
const only = query.get('only');
const shown = Object.entries(sections).filter(([name]) => !only || name === only);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    {query.has('server') ? (
      <Whole />
    ) : (
      <main className="gallery">
        <h1>Gallery</h1>
        {shown.map(([name, Section]) => (
          <section key={name} id={name} aria-label={name}>
            <h2>{name}</h2>
            <Section />
          </section>
        ))}
      </main>
    )}
  </StrictMode>,
);
