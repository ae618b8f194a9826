import type { Caller } from '../access/index.ts';
import type { Kernel } from '../kernel/index.ts';
import type { Database } from '../store/index.ts';
import type { Stream } from '../stream/index.ts';

/** What routes act through. Null until the process has started: then requests are told to come back. */
export interface Services {
  db: Database;
  kernel: Kernel;
  stream: Stream;
  access: {
    /** Throws a `Refusal` where nobody is known by these headers. */
    authenticate(headers: Headers): Promise<Caller>;
  };
}
