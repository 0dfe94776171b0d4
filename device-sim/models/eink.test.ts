import { createCanvas, loadImage } from '@napi-rs/canvas';
import { describe, expect, it } from 'vitest';
import { rig, turn } from '../testing/rig.js';
import { REFRESH_MS } from './panel.js';

function png(width: number): string {
  return createCanvas(width, width).toBuffer('image/png').toString('base64');
}

/** A display whose paper has rested since its first picture. */
async function display() {
  const made = rig('eink');
  await made.clock.pass(REFRESH_MS);
  return made;
}

describe('the display', () => {
  it('shows a card and says so', async () => {
    const { call, board } = await display();
    const told = await call('render_ui', { type: 'kv', title: 'Status', rows: { in: '19:30' } });
    expect(told).toMatchObject({ status: 'shown', type: 'kv', cut: false });
    const shown = board.display?.panel()?.shown;
    expect(shown?.picture.texts.map((t) => t.text)).toEqual(
      expect.arrayContaining(['Status', 'in', '19:30', 'updated 13:32']),
    );
    expect(await call('status')).toMatchObject({
      card_id: (told as { card_id: string }).card_id,
      queued: null,
    });
  });

  it('sends its very framebuffer as a PNG, as a blob of the call', async () => {
    const { call, blob, board } = await display();
    await call('render_ui', { type: 'text', title: 'Hello', body: 'World', card_id: 'hi' });
    const { bytes, open, value } = await blob('snapshot');
    expect(open).toMatchObject({ mediaType: 'image/png', purpose: 'snapshot' });
    expect(open.callId).toBeGreaterThan(100);
    expect(value).toMatchObject({ card_id: 'hi', width: 800, height: 480, bytes: bytes.length });
    const image = await loadImage(Buffer.from(bytes));
    const canvas = createCanvas(800, 480);
    canvas.getContext('2d').drawImage(image, 0, 0);
    const seen = canvas.getContext('2d').getImageData(0, 0, 800, 480).data;
    const framebuffer = board.display?.panel()?.framebuffer;
    expect(Buffer.from(seen).equals(Buffer.from(framebuffer?.toRgba() ?? []))).toBe(true);
  });

  it('shows its name until a first card, and keeps its picture over a reboot', async () => {
    const { call, board, peer } = await display();
    const panel = board.display?.panel();
    expect(panel?.shown?.isCard).toBe(false);
    expect(await call('status')).toMatchObject({ card_id: null });
    await call('say', { text: 'hi' });
    const before = panel?.framebuffer.bytes.slice();
    board.reboot();
    peer.welcome({ nextCallId: 200 });
    expect(board.display?.panel()?.framebuffer.bytes).toEqual(before);
  });

  it('has its verbs in help with their signatures', async () => {
    const { call } = await display();
    const help = await call('help');
    for (const verb of [
      'render_ui type:s32 *',
      'say text:s2000',
      'notify title:s100',
      'tap x:i',
      'snapshot',
      'status',
      'help',
    ]) {
      expect(help).toContain(verb);
    }
    expect(help).not.toMatch(/^chat\b/m);
  });
});

describe('refreshes', () => {
  const text = (body: string) => ({ type: 'text', body, card_id: body });

  it('keep 1.5 s between them; of a burst the latest wins and everyone is told', async () => {
    const { send, answer, clock, board } = await display();
    const ids = ['a', 'b', 'c', 'd'].map((body) => send('render_ui', text(body)));
    await clock.pass(0);
    const fates = () =>
      ids.map((id) => (answer(id) as { value?: { status: string } })?.value?.status);
    expect(fates()).toEqual(['shown', 'superseded', 'superseded', undefined]);
    await clock.pass(1_400);
    expect(fates()[3]).toBeUndefined();
    expect(board.display?.panel()?.shown?.cardId).toBe('a');
    await clock.pass(100);
    expect(fates()).toEqual(['shown', 'superseded', 'superseded', 'shown']);
    expect(board.display?.panel()?.shown?.cardId).toBe('d');
    expect(board.display?.panel()?.refreshes).toBe(3);
  });

  it('tell a caller that won’t wait as long that its card is queued, and show it all the same', async () => {
    const { send, answer, clock, board } = await display();
    send('render_ui', text('first'));
    const hasty = send('render_ui', text('second'), 1_000);
    await clock.pass(0);
    expect(answer(hasty)).toMatchObject({ value: { status: 'queued', shown_in_ms: 1_500 } });
    await clock.pass(1_500);
    expect(board.display?.panel()?.shown?.cardId).toBe('second');
  });

  it('never happen twice within 1.5 s, whatever comes', async () => {
    const { send, clock, board } = await display();
    const panel = board.display?.panel();
    let last = panel?.refreshes ?? 0;
    let at = 0;
    for (let i = 0; i < 120; i++) {
      if (i % 3) send('render_ui', i % 7 ? text(`t${i}`) : { type: 'nonsense' });
      await clock.pass(100 + (i % 5) * 90);
      const now = panel?.refreshes ?? 0;
      expect(now - last).toBeLessThanOrEqual(1);
      if (now > last) {
        expect(clock.now() - at).toBeGreaterThanOrEqual(1_500 - 460);
        at = clock.now();
      }
      last = now;
    }
    expect(last).toBeGreaterThan(10);
    expect(last).toBeLessThanOrEqual(1 + Math.ceil(clock.now() / 1_500));
  });

  it('don’t let a picture that decodes slowly paint over a card that came later', async () => {
    const { send, answer, clock, board } = await display();
    const slow = send('render_ui', { type: 'image', data: png(400), card_id: 'slow' });
    const fast = send('render_ui', text('fast'));
    for (let i = 0; i < 30 && !answer(slow); i++) await turn();
    await clock.pass(3_000);
    expect(answer(fast)).toMatchObject({ value: { status: 'shown' } });
    expect(answer(slow)).toMatchObject({ value: { status: 'superseded' } });
    expect(board.display?.panel()?.shown?.cardId).toBe('fast');
  });
});

describe('a card it can’t draw', () => {
  it('becomes an error card with its type on it, and a clear failure for the caller', async () => {
    const { send, answer, clock, board } = await display();
    const id = send('render_ui', { type: 'hologram', title: 'x' });
    await clock.pass(0);
    expect(answer(id)).toMatchObject({ type: 'failure', code: 'unknown_type' });
    expect((answer(id) as { message: string }).message).toContain('error card');
    const words = board.display
      ?.panel()
      ?.shown?.picture.texts.map((t) => t.text)
      .join(' ');
    expect(words).toContain('“hologram”');
    expect(board.display?.panel()?.shown?.isCard).toBe(false);
  });

  it('by url fails, since it has no web', async () => {
    const { call } = await display();
    await expect(call('render_ui', { type: 'image', url: 'http://x/y.png' })).rejects.toThrow(
      /^no_web/,
    );
  });

  it('that only shows itself as too dense when drawn does the same', async () => {
    const { send, answer, clock } = await display();
    const id = send('render_ui', { type: 'qr', text: 'x'.repeat(2_400) });
    await clock.pass(3_000);
    expect(answer(id)).toMatchObject({ type: 'failure', code: 'too_dense' });
  });
});

describe('touch', () => {
  it('on a button or a menu item becomes an event with the card’s id', async () => {
    const { call, board, peer } = await display();
    await call('render_ui', {
      type: 'menu',
      card_id: 'm1',
      items: [{ id: 'lights', label: 'Lights' }],
      buttons: [{ id: 'back', label: 'Back' }],
    });
    for (const target of board.display?.panel()?.shown?.picture.targets ?? []) {
      const told = await call('tap', { x: Math.round(target.x + 5), y: Math.round(target.y + 5) });
      expect(told).toEqual({ hit: true, id: target.id, card_id: 'm1' });
    }
    expect(peer.take('event').map((e) => [e.kind, e.detail])).toEqual([
      ['ui_tap', { card_id: 'm1', id: 'back' }],
      ['ui_tap', { card_id: 'm1', id: 'lights' }],
    ]);
    expect(await call('tap', { x: 799, y: 0 })).toMatchObject({ hit: false });
    expect(board.display?.touch(799, 0)).toBeUndefined();
    expect(peer.take('event')).toEqual([]);
  });
});

describe('notify', () => {
  it('shows an alert, replaced by the same tag', async () => {
    const { call, board } = await display();
    const told = await call('notify', {
      title: 'Leak',
      body: 'Cellar',
      tag: 'water',
      url: 'https://x.example',
    });
    expect(told).toMatchObject({ status: 'shown', card_id: 'notify:water' });
    const words = board.display?.panel()?.shown?.picture.texts.map((t) => t.text);
    expect(words).toEqual(expect.arrayContaining(['Leak', 'Cellar', 'https://x.example']));
  });

  it('needs a title, and says so', async () => {
    const { call } = await display();
    await expect(call('notify', { body: 'x' })).rejects.toThrow(/^bad_arguments: notify: title/);
  });
});
