import { expect, inject, it } from 'vitest';
import { PatientPool } from '../../src/store/patient-pool.ts';

it('takes a connection back once, however often it is given back, and never from whoever has it then', async () => {
  const patient = new PatientPool({ connectionString: inject('postgresUrl'), max: 1 });
  try {
    const done = await new Promise<(error?: Error) => void>((resolve) =>
      patient.pool.connect((_error, _client, release) => resolve(release)),
    );
    done();
    const next = await patient.pool.connect();
    expect(() => done()).not.toThrow();
    expect([patient.pool.totalCount, patient.pool.idleCount]).toEqual([1, 0]);
    next.release();
    expect(patient.pool.idleCount).toBe(1);
  } finally {
    await patient.end(1_000);
  }
});
