import { describe, expect, it } from 'vitest';
import { nameServer } from './dns.fixture.js';
import { byDns } from './resolve.js';

const NAME = 'robot.example';
const never = new AbortController().signal;

describe('a name looked up by DNS', () => {
  it('has all its addresses, of both families', async () => {
    const aaaa = [...Array(15).fill(0), 1];
    const { servers, questions } = await nameServer({
      a: [
        [1, 1, 1, 1],
        [10, 0, 0, 1],
      ],
      aaaa: [aaaa],
    });
    const found = await byDns(servers)(NAME, never);
    expect(found.sort()).toEqual(['1.1.1.1', '10.0.0.1', '::1']);
    expect(new Set(questions)).toEqual(new Set([NAME]));
  });

  it('has those of one family where the other has none', async () => {
    const { servers } = await nameServer({ a: [[1, 1, 1, 1]] });
    expect(await byDns(servers)(NAME, never)).toEqual(['1.1.1.1']);
  });

  it.each([{}, { a: [], aaaa: [] }])('that is not there is unknown: %j', async (said) => {
    const { servers } = await nameServer(said);
    await expect(byDns(servers)(NAME, never)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('is given up when the call ends, however long the name server is silent', async () => {
    const { servers, first } = await nameServer('silent');
    const call = new AbortController();
    const found = byDns(servers)(NAME, call.signal);
    await first;
    call.abort();
    await expect(found).rejects.toMatchObject({ code: 'ECANCELLED' });
    await expect(byDns(servers)(NAME, call.signal)).rejects.toThrow(/abort/);
  });
});
