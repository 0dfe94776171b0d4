/** A board's recording, from its microphone to the owner's transcripts and media, over MQTT. */
import { expect, test } from 'vitest';
import { HubClient } from '../cli/client.js';
import { startStack } from '../cli/stack.js';
import { onCleanup, tempFolder } from '../hub/cleanup.fixture.js';
import { transcriptsReply } from '../protocol/tiny.js';

test('what a camera records is a transcript at the hub, with the sound beside it', async () => {
  const local = { host: '127.0.0.1', port: 0 };
  const stack = await startStack({
    home: tempFolder(),
    hub: local,
    broker: local,
    sims: [{ kind: 'camera', name: 'camera' }],
  });
  onCleanup(() => stack.stop());
  expect(await stack.simsReady(15_000)).toBe(true);
  const client = new HubClient({ url: stack.url, token: stack.token });
  const made = await client.useDevice({
    action: 'invoke',
    device_id: 'camera',
    prompt: 'record {"seconds":1,"says":"Is anybody home?"}',
    wait: true,
    timeout_ms: 20_000,
  });
  expect(made).toMatchObject({ ok: true, result: { media_type: 'audio/wav', bytes: 16_044 } });

  const own = { authorization: `Bearer ${stack.token}` };
  const ask = async (path: string): Promise<Response> => fetch(stack.url + path, { headers: own });
  type Row = Record<string, unknown>;
  const listed = async (): Promise<Row[]> =>
    transcriptsReply.parse(await (await ask('/api/devices/transcript')).json()).transcripts;
  await expect.poll(listed, { timeout: 15_000 }).toHaveLength(1);
  const kept = await listed();
  expect(kept).toEqual([
    expect.objectContaining({
      label: 'Recording 1',
      preview: 'Is anybody home?',
      duration_s: 1,
      audio_url: expect.stringMatching(/^\/media\/[0-9a-f-]{36}\.wav$/),
    }),
  ]);
  const sound = await ask(String(kept[0]?.audio_url));
  expect(sound.headers.get('content-type')).toBe('audio/wav');
  const bytes = Buffer.from(await sound.arrayBuffer());
  expect(bytes.length).toBe(16_044);
  expect(bytes.toString('latin1', 0, 4)).toBe('RIFF');
  const [event] = ((await (await ask('/api/events')).json()) as { events: object[] }).events;
  expect(event).toMatchObject({
    kind: 'nicla_transcript',
    detail: expect.stringContaining('camera: "Is anybody home?"'),
  });
});
