import { afterAll, expect, test } from 'vitest';
import { asBoard, dial } from '../links/broker-fixture.js';
import { topicOf } from '../links/topics.js';
import { bundleChild, type Child, runChild } from './child-fixture.js';

const children: Child[] = [];
afterAll(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.map((child) => child.ended));
});

/*
 * With its default settings the library dies of "Maximum call stack size exceeded" under this
 * load: with 100 messages in flight it queues the rest, and each that ends takes the next off the
 * queue by calling itself, so a run of messages that nobody hears goes thousands of calls deep.
 * To see it, run the child with `default` in place of `broker` (it died in two runs of two).
 */
test('ten unthrottled publishers for two seconds do not end the broker; QoS 1 is answered after', async () => {
  const program = await bundleChild(new URL('./flood-child.ts', import.meta.url));
  const broker = runChild(program, ['broker'], ['--max-old-space-size=256']);
  children.push(broker);
  const port = (await broker.line('port ')).slice(5);
  const flood = runChild(program, ['flood', port, '2000']);
  children.push(flood);
  const [, sent, , ended] = (await flood.line('sent ')).split(' ');
  await flood.ended;
  // Far more was offered than the rates let in, and all ten were connected to the end.
  expect(Number(sent)).toBeGreaterThan(10_000);
  expect(ended).toBe('0');

  const calm = await dial(asBoard(`mqtt://127.0.0.1:${port}`, '000000000000001a'));
  const began = performance.now();
  await calm.publishAsync(topicOf('000000000000001a', 'up'), Buffer.from([1]), { qos: 1 });
  expect(performance.now() - began).toBeLessThan(1_000);
  calm.end(true);
  const seen = JSON.parse((broker.lines.at(-1) ?? '').slice(5)) as {
    frames: number;
    mb: number;
    counters: Record<string, number>;
  };
  expect(seen.counters.throttled).toBeGreaterThan(0);
  expect(seen.frames).toBeGreaterThan(1_000);
  expect(seen.frames).toBeLessThan(Number(sent));
  expect(seen.mb).toBeLessThan(300);
});
