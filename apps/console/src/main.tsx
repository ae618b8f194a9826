import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { TroupeProvider } from '@troupe/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { troupe } from './data/client.ts';
import { queryClient } from './data/queries.ts';
import { applyTheme } from './data/settings.ts';
import { router } from './router.tsx';
import { Gate } from './shell/gate.tsx';
import './styles.css';

applyTheme();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <TroupeProvider client={troupe}>
        <Gate>
          <RouterProvider router={router} />
        </Gate>
      </TroupeProvider>
    </QueryClientProvider>
  </StrictMode>,
);
