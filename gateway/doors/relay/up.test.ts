import { describe, expect, it } from 'vitest';
import { FakeHub, json, no } from './hub.fixture.js';
import { A, B, World } from './world.fixture.js';

const UP = 'POST /api/gateway/v1/up';
const ASK = 'POST /api/devices/ask';
const MESSAGES = 'POST /api/devices/messages';
const world = (options = {}): Promise<World> => new World(new FakeHub(), options).start();

const event = (seq: number, boardId = A) =>
  ({ boardId, kind: 'event', seq, body: { kind: 'button', detail: { id: seq } } }) as const;

describe('live values', () => {
  it('go up at once, then coalesced, the newest of each', async () => {
    const { hub, clock, switchboard } = await world();
    await clock.advance(1_000);
    const before = hub.of(UP).length;
    const board = switchboard.board(A);
    if (!board) throw new Error('no board');
    switchboard.emit('readings', board, { t: 1 }, 10.4);
    await clock.advance();
    expect(hub.up('readings')).toMatchObject([
      { device_id: `dev-${A}`, at: 10, values: { t: 1 }, stored: false },
    ]);
    for (let i = 2; i <= 9; i++) {
      switchboard.emit('readings', board, i % 2 ? { t: i } : { h: i }, i * 100);
      await clock.advance(10);
    }
    expect(hub.up('readings').length).toBe(1);
    await clock.advance(250);
    expect(hub.up('readings')[1]).toMatchObject({ at: 900, values: { t: 9, h: 8 } });
    expect(hub.of(UP).length).toBe(before + 2);
  });

  it('tell each presence, and all of them again on a new stream', async () => {
    const { hub, clock, switchboard } = await world();
    switchboard.set(A, 'asleep');
    await clock.advance(1_000);
    const states = () =>
      hub.up('presence').map(({ presence }) => (presence as { state: string }).state);
    expect(states()).toEqual(['online', 'asleep']);
    expect(hub.up('presence')[1]?.presence).toHaveProperty('until');
    hub.cut();
    await clock.advance(5_000);
    expect(states()).toEqual(['online', 'asleep', 'asleep']);
  });

  it('that fail do not stand in the way of newer ones', async () => {
    const { hub, clock, switchboard } = await world();
    await clock.advance(1_000);
    const board = switchboard.board(A);
    if (!board) throw new Error('no board');
    hub.once(UP, () => {
      switchboard.emit('readings', board, { t: 2 }, 2);
      switchboard.set(A, 'unreachable');
      return new Response('', { status: 500 });
    });
    switchboard.emit('readings', board, { t: 1, h: 1 }, 1);
    await clock.advance(10_000);
    expect(hub.up('readings').map(({ values }) => values)).toEqual([{ t: 2, h: 1 }]);
    expect(hub.up('presence').at(-1)?.presence).toMatchObject({ state: 'unreachable' });
  });
});

describe('how the links are', () => {
  it('goes up at the start and each minute, with what was last heard', async () => {
    let heard = 7.4;
    const links = () => [{ via: 'mqtt', state: 'up', lastHeardAt: heard, secret: 'x' }];
    const { hub, clock } = await world({ links });
    await clock.advance(1_000);
    expect(hub.up('health').map((item) => item.links)).toEqual([
      [{ via: 'mqtt', state: 'up', lastHeardAt: 7 }],
    ]);
    heard = 70_000;
    await clock.advance(60_000);
    expect(hub.up('health').at(-1)?.links).toMatchObject([{ lastHeardAt: 70_000 }]);
    expect(hub.up('health')).toHaveLength(2);
  });
});

describe('transcripts', () => {
  const MEDIA = 'POST /api/gateway/v1/media';
  const said = (seq: number, blobId: number) =>
    ({ boardId: A, kind: 'transcript', seq, body: { text: `word ${seq}`, blobId } }) as const;
  const wav = new TextEncoder().encode('RIFF....WAVE');

  it('with a recording go up once it is hosted, and not before', async () => {
    const read = async (key: string) => (key === `${A}-1-9` ? wav : undefined);
    const { hub, clock, switchboard, journal } = await world({ blobs: { read } });
    hub.once(MEDIA, () => no(503, 'store unavailable'));
    await switchboard.keep(said(1, 9));
    await clock.advance(300);
    expect(hub.of(MEDIA)).toHaveLength(1);
    expect(hub.up('transcript')).toEqual([]);
    await clock.advance(5_000);
    expect(hub.of(MEDIA)).toHaveLength(2);
    expect(hub.up('transcript')).toMatchObject([{ text: 'word 1', audioUrl: '/media/k.png' }]);
    expect(journal.pending(10)).toEqual([]);
  });

  it('whose recording is missing or refused go up alone, and that is counted', async () => {
    const read = async (key: string) => (key === `${A}-1-9` ? wav : undefined);
    const { hub, clock, switchboard, door } = await world({ blobs: { read } });
    hub.always(MEDIA, () => no(413, 'too large'));
    await switchboard.keep(said(1, 9));
    await switchboard.keep(said(2, 10));
    await clock.advance(5_000);
    expect(hub.up('transcript').map(({ text, audioUrl }) => [text, audioUrl])).toEqual([
      ['word 1', undefined],
      ['word 2', undefined],
    ]);
    expect(door.state().counters).toMatchObject({
      'recordings.missing': 1,
      'recordings.refused': 1,
    });
  });
});

describe('items of the journal', () => {
  it('go up in order, numbered, and are forgotten when acknowledged', async () => {
    const { hub, clock, switchboard, journal } = await world();
    await switchboard.keep(event(1));
    await switchboard.keep({
      boardId: A,
      kind: 'transcript',
      seq: 2,
      body: { text: 'hi', label: 'kitchen', durationS: 3 },
    });
    await switchboard.keep({
      boardId: A,
      kind: 'task_result',
      seq: 3,
      body: { taskId: 'x', summary: 's', result: new Uint8Array([1]) },
    });
    await switchboard.keep({ boardId: A, kind: 'readings', seq: 4, body: { values: { t: 21.5 } } });
    await clock.advance(1_000);
    const kept = hub.items.filter(({ kind, stored }) => kind !== 'presence' && stored !== false);
    expect(kept).toMatchObject([
      { kind: 'event', boot: 1, board_seq: 1, event: 'button', detail: { id: 1 } },
      { kind: 'transcript', board_seq: 2, text: 'hi', label: 'kitchen', durationS: 3 },
      {
        kind: 'task_result',
        board_seq: 3,
        taskId: 'x',
        summary: 's',
        result: { base64: 'AQ==', bytes: 1 },
      },
      { kind: 'readings', values: { t: 21.5 }, stored: true },
    ]);
    const seqs = hub.items.map(({ seq }) => Number(seq));
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(new Set(seqs).size).toBe(seqs.length);
    expect(journal.pending(10)).toEqual([]);
  });

  it('survive a hub that fails, and a restart never uses a number again', async () => {
    const w = await world();
    w.hub.always(UP, () => no(503, 'store unavailable'));
    await w.switchboard.keep(event(1));
    await w.clock.advance(60_000);
    expect(w.journal.pending(10).length).toBe(1);
    const last = Math.max(
      ...w.hub
        .of(UP)
        .flatMap(({ body }) => (body.items as { seq: number }[]).map(({ seq }) => seq)),
    );
    w.hub.always(UP, undefined);
    await w.restart();
    await w.clock.advance(1_000);
    expect(w.hub.up('event').length).toBe(1);
    expect(Number(w.hub.up('event')[0]?.seq)).toBeGreaterThan(last);
    expect(w.journal.pending(10)).toEqual([]);
  });

  it('beyond one batch follow each other without a wait', async () => {
    const { hub, clock, switchboard, journal } = await world();
    await clock.advance(1_000);
    for (let i = 1; i <= 1_200; i++)
      await switchboard.journal.keep({ bootId: 1, at: 0, ...event(i) });
    switchboard.emit('kept');
    await clock.advance(10);
    expect(hub.up('event').length).toBe(1_200);
    for (const { body } of hub.of(UP)) expect((body.items as []).length).toBeLessThanOrEqual(500);
    expect(journal.pending(1)).toEqual([]);
  });

  it('of a size that the hub could not take at once are split', async () => {
    const { hub, clock, switchboard } = await world();
    for (let i = 1; i <= 40; i++) {
      await switchboard.journal.keep({
        bootId: 1,
        at: 0,
        boardId: A,
        kind: 'transcript',
        seq: i,
        body: { text: 'ä'.repeat(16_000) },
      });
    }
    switchboard.emit('kept');
    await clock.advance(1_000);
    expect(hub.up('transcript').length).toBe(40);
    for (const { body } of hub.of(UP)) expect(JSON.stringify(body).length).toBeLessThan(300_000);
  });

  it('that the hub refuses are put aside and counted; the others go on', async () => {
    const { hub, clock, switchboard, journal, door } = await world();
    await clock.advance(1_000);
    hub.once(UP, ({ body }) => {
      const items = body.items as { seq: number }[];
      const refused = [{ seq: items[0]?.seq ?? 0, why: 'taskId: bad' }];
      return json(200, { ok: true, ack: items.at(-1)?.seq ?? 0, refused });
    });
    await switchboard.keep({
      boardId: A,
      kind: 'task_result',
      seq: 1,
      body: { taskId: 'ü', summary: '', result: 1 },
    });
    await switchboard.keep(event(2));
    await clock.advance(1_000);
    expect(journal.pending(10)).toEqual([]);
    expect(door.state().counters).toMatchObject({ 'up.aside': 1 });
    const aside = journal.list('door').filter(([key]) => key.startsWith('aside/'));
    expect(aside.map(([, text]) => JSON.parse(text))).toMatchObject([
      { why: 'taskId: bad', item: { kind: 'task_result', seq: 1 } },
    ]);
  });

  it('in a batch that is refused as a whole: the one at fault is found', async () => {
    const { hub, clock, switchboard, journal } = await world();
    await clock.advance(1_000);
    hub.always(UP, ({ body }) => {
      const items = body.items as { seq: number; event: string }[];
      if (JSON.stringify(items).includes('"poison"')) return no(400, 'bad request');
      hub.items.push(...(items as never[]));
      return json(200, { ok: true, ack: items.at(-1)?.seq ?? 0, refused: [] });
    });
    for (let i = 1; i <= 20; i++) {
      const kind = i === 13 ? 'poison' : 'fine';
      await switchboard.journal.keep({
        bootId: 1,
        at: 0,
        boardId: A,
        kind: 'event',
        seq: i,
        body: { kind, detail: null },
      });
    }
    switchboard.emit('kept');
    await clock.advance(5_000);
    expect(hub.up('event').length).toBe(19);
    expect(journal.pending(10)).toEqual([]);
  });

  it('that were acknowledged in part are sent again from there', async () => {
    const { hub, clock, switchboard, journal } = await world();
    await clock.advance(1_000);
    hub.once(UP, ({ body }) => {
      const items = body.items as { seq: number }[];
      return json(200, { ok: true, ack: (items[0]?.seq ?? 1) - 1 + 1, refused: [] });
    });
    for (let i = 1; i <= 3; i++) await switchboard.journal.keep({ bootId: 1, at: 0, ...event(i) });
    switchboard.emit('kept');
    await clock.advance(10_000);
    expect(hub.up('event').map(({ board_seq }) => board_seq)).toEqual([2, 3]);
    expect(journal.pending(10)).toEqual([]);
  });

  it('of a board that the hub does not know do not stand in the way', async () => {
    const { hub, clock, switchboard, journal } = await world();
    for (let i = 1; i <= 700; i++)
      await switchboard.journal.keep({ bootId: 1, at: 0, ...event(i, B) });
    await switchboard.keep(event(1));
    await clock.advance(1_000);
    expect(hub.up('event').map(({ device_id }) => device_id)).toEqual([`dev-${A}`]);
    expect(journal.pending(1_000).length).toBe(700);
    switchboard.set(B, 'online');
    await clock.advance(2_000);
    expect(journal.pending(1_000)).toEqual([]);
  });
});

describe('asks', () => {
  const ask = (askId: number, body: object = { text: 'What time is it?' }, boardId = A) =>
    ({ boardId, kind: 'ask', seq: askId, body: { askId, ...body } }) as const;

  it('are answered at the board, with a card', async () => {
    const { hub, clock, switchboard, journal } = await world();
    await switchboard.keep(ask(7));
    await clock.advance();
    const [seen] = hub.of(ASK);
    expect(seen?.body).toEqual({ deviceId: `dev-${A}`, text: 'What time is it?' });
    expect(seen?.headers.get('authorization')).toMatch(/^Bearer mgw_/);
    expect(switchboard.answers).toEqual([
      { boardId: A, askId: 7, answer: { text: 'It is noon.', card: { type: 'text' } } },
    ]);
    expect(journal.pending(1)).toEqual([]);
  });

  it('that are spoken go up as media first', async () => {
    const read = async (key: string) =>
      key === `${A}-1-9` ? new TextEncoder().encode('RIFF....WAVE') : undefined;
    const { hub, clock, switchboard } = await world({ blobs: { read } });
    await switchboard.keep(ask(1, { blobId: 9 }));
    await switchboard.keep(ask(2, { blobId: 10 }));
    await clock.advance();
    expect(hub.of('POST /api/gateway/v1/media')[0]?.headers.get('content-type')).toBe('audio/wav');
    expect(hub.of(ASK).map(({ body }) => body.audioUrl)).toEqual(['/media/k.png']);
    expect(switchboard.answers[1]?.answer).toMatchObject({
      error: expect.stringContaining('not on the gateway'),
    });
  });

  it.each([400, 402, 404, 422])(
    'that are refused with %d tell the board the sentence',
    async (status) => {
      const { hub, clock, switchboard, journal } = await world();
      hub.once(ASK, () => no(status, 'this tiny is priced'));
      await switchboard.keep(ask(1));
      await clock.advance();
      expect(switchboard.answers[0]?.answer).toEqual({ error: 'this tiny is priced' });
      expect(journal.pending(1)).toEqual([]);
    },
  );

  it('are tried again when the hub fails, one at a time for each board', async () => {
    const { hub, clock, switchboard } = await world();
    switchboard.set(B, 'online');
    await clock.advance(1_000);
    hub.once(ASK, () => new Response('', { status: 502 }));
    await switchboard.keep(ask(1));
    await switchboard.keep(ask(2));
    await switchboard.keep(ask(1, {}, B));
    await clock.advance();
    expect(switchboard.answers.map(({ boardId }) => boardId)).toEqual([B]);
    await clock.advance(5_000);
    expect(switchboard.answers.map(({ askId }) => askId)).toEqual([1, 1, 2]);
  });

  it('that waited too long are not asked, and the board is told', async () => {
    const { hub, clock, switchboard } = await world();
    hub.down = true;
    await switchboard.keep(ask(1));
    await clock.advance(700_000);
    hub.down = false;
    await clock.advance(61_000);
    expect(hub.of(ASK)).toEqual([]);
    expect(switchboard.answers[0]?.answer).toMatchObject({
      error: expect.stringContaining('Ask again'),
    });
  });
});

describe('mails', () => {
  const mail = (mailId: number, op: string, args: object) =>
    ({ boardId: A, kind: 'mail', seq: mailId, body: { mailId, op, args: args as never } }) as const;

  it('are answered at the board and can’t speak for another device', async () => {
    const { hub, clock, switchboard } = await world();
    await switchboard.keep(mail(3, 'unread', { deviceId: 'someone', token: 't', op: 'send' }));
    await clock.advance();
    expect(hub.of(MESSAGES)[0]?.body).toMatchObject({ deviceId: `dev-${A}`, op: 'unread' });
    expect(switchboard.mailReplies).toEqual([
      { mailId: 3, ok: true, value: { unread: 2, from: [] } },
    ]);
  });

  it('that are refused say why', async () => {
    const { hub, clock, switchboard } = await world();
    hub.once(MESSAGES, () => no(400, 'to required for send'));
    await switchboard.keep(mail(3, 'send', {}));
    await clock.advance();
    expect(switchboard.mailReplies).toEqual([
      { mailId: 3, ok: false, value: 'to required for send' },
    ]);
  });

  it('are not sent twice: an answer that was lost is said', async () => {
    const { hub, clock, switchboard } = await world();
    hub.once(MESSAGES, () => new Response('', { status: 502 }));
    await switchboard.keep(mail(3, 'send', { to: 'ann', body: 'hi' }));
    await clock.advance(120_000);
    expect(hub.of(MESSAGES).length).toBe(1);
    expect(switchboard.mailReplies[0]).toMatchObject({
      ok: false,
      value: expect.stringContaining('may have been sent'),
    });
  });

  it('are sent later where the hub said not now, or never heard of them', async () => {
    const { hub, clock, switchboard } = await world();
    hub.once(MESSAGES, () => no(503, 'messages unavailable'));
    await switchboard.keep(mail(3, 'send', { to: 'ann', body: 'hi' }));
    await clock.advance();
    hub.down = true;
    await clock.advance(10_000);
    hub.down = false;
    await clock.advance(61_000);
    expect(switchboard.mailReplies).toMatchObject([{ mailId: 3, ok: true }]);
  });
});
