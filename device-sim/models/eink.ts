/**
 * An e-ink display: 800 by 480, four grays. It draws cards and has no model of its own, so it
 * offers no `chat`: a prompt that names no verb is answered with this board's help instead.
 */

import type { Value } from '../../protocol/kinds.js';
import { CARD_TYPES, type Card, CardError, parseCard } from '../draw/cards.js';
import type { PanelStatus } from '../draw/chrome.js';
import { readyCard, renderCard, renderError, renderIdle, renderSetup } from '../draw/render.js';
import { readingsByName } from '../firmware.js';
import {
  type BoardHost,
  type BoardSpec,
  type Model,
  type VerbContext,
  VerbError,
} from '../types.js';
import { agentVerbs } from './eink-agent.js';
import { type Fate, Panel } from './panel.js';

export interface EinkModel {
  model: Model;
  /** A finger on the panel. Answers the id of what it touched, which is also sent as an event. */
  touch(x: number, y: number): string | undefined;
  /** The paper, which keeps its picture when the power fails. */
  panel(): Panel | undefined;
}

const SETUP = 'setup';

/** Time kept back from a caller's patience for the way home of the answer. */
const MARGIN_MS = 250;

const CARD_HELP =
  `draws a card. type is one of ${CARD_TYPES.join(', ')}. ` +
  'text: title, body. list: items (text or {text, detail, done}). kv: rows (object or pairs). ' +
  'composite: parts (up to 4 cards). qr: text, caption. chart: data (2 to 160 numbers), style line ' +
  'or bar, y_min, y_max, unit, labels. chat: messages ({from, text}). image: data (PNG or JPEG as ' +
  'base64). menu: items (up to 24, text or {id, label}). All take title, card_id, footer, buttons ' +
  '([{id, label}], up to 4) and priority:"alert". What doesn’t fit is marked [cut]';

export function einkModel(name: string): EinkModel {
  let panel: Panel | undefined;
  let touch: EinkModel['touch'] = () => undefined;
  return {
    panel: () => panel,
    touch: (x, y) => touch(x, y),
    model: (host) => {
      panel ??= new Panel(host.clock);
      const firmware = new EinkFirmware(host, name, panel);
      touch = (x, y) => firmware.touch(x, y);
      return firmware.spec();
    },
  };
}

class EinkFirmware {
  readonly #host: BoardHost;
  readonly #name: string;
  readonly #panel: Panel;
  readonly #bootedAt: number;
  readonly #charge: number;
  #turn = 0;
  #shownTurn = 0;

  constructor(host: BoardHost, name: string, panel: Panel) {
    this.#host = host;
    this.#name = name;
    this.#panel = panel;
    this.#bootedAt = host.clock.now();
    this.#charge = 82 + Math.floor(host.random() * 16);
    this.#pairing();
  }

  spec(): BoardSpec {
    const idempotent = { idempotent: true };
    const readOnly = { idempotent: true, readOnly: true };
    const spec: BoardSpec = {
      name: this.#name,
      platform: 'sim-eink',
      firmware: 'mote-eink 1.0.0',
      maxMessage: 16_384,
      battery: () => this.#battery(),
      readings: [{ name: 'battery', unit: '%', read: () => this.#battery() }],
      verbs: [
        {
          name: 'render_ui',
          signature: 'type:s32 *',
          description: CARD_HELP,
          flags: idempotent,
          run: (args, ctx) => this.#render(args, ctx),
        },
        {
          name: 'say',
          signature: 'text:s2000',
          description: 'shows words as large as they fit',
          flags: idempotent,
          run: ({ text }, ctx) => this.#render({ type: 'text', body: text ?? '' }, ctx),
        },
        {
          name: 'notify',
          signature: 'title:s100 body?:s400 tag?:s64 url?:s400',
          description: 'shows an alert; with url also its address',
          flags: idempotent,
          run: (args, ctx) => this.#notify(args, ctx),
        },
        {
          name: 'tap',
          signature: 'x:i0..799 y:i0..479',
          description: 'touches the panel at a pixel; a button or menu item sends the event ui_tap',
          run: ({ x, y }) => {
            const id = this.touch(Number(x), Number(y));
            return { hit: id !== undefined, id: id ?? null, card_id: this.#cardId() };
          },
        },
        {
          name: 'status',
          signature: '',
          description: 'what is shown, what waits, battery and uptime',
          flags: readOnly,
          run: () => ({
            ...readingsByName(spec),
            card_id: this.#cardId(),
            queued: this.#panel.queued ?? null,
            refreshes: this.#panel.refreshes,
            cut: this.#panel.shown?.picture.cut ?? false,
            uptime_s: Math.floor((this.#host.clock.now() - this.#bootedAt) / 1000),
          }),
        },
        {
          name: 'snapshot',
          signature: '',
          description: 'the picture on the panel, as a PNG',
          flags: readOnly,
          run: (_, ctx) => this.#snapshot(ctx),
        },
        ...agentVerbs({ host: this.#host, show: (card) => this.#show(card) }),
      ],
      pairingChanged: () => this.#pairing(),
      ended: () => this.#panel.powerOff(),
    };
    return spec;
  }

  touch(x: number, y: number): string | undefined {
    const id = this.#panel.at(x, y);
    if (id !== undefined) this.#host.event('ui_tap', { card_id: this.#cardId(), id });
    return id;
  }

  async #render(args: Record<string, Value>, ctx: VerbContext): Promise<Value> {
    const turn = ++this.#turn;
    try {
      const ready = await readyCard(parseCard(args));
      // A picture takes a while to decode; a card that came after it must not be painted over.
      if (turn < this.#shownTurn) return this.#told(ready.card, ready.cardId, 'superseded');
      this.#shownTurn = turn;
      const fate = await this.#panel.show(ready.cardId, () => renderCard(ready, this.#status()), {
        patienceMs: ctx.ttlMs - MARGIN_MS,
      });
      return this.#told(ready.card, ready.cardId, fate);
    } catch (error) {
      if (!(error instanceof CardError)) throw error;
      await this.#showError(error, ctx);
      const { code } = error;
      throw new VerbError(code, `${error.message}. The panel shows an error card instead`);
    }
  }

  /** A card of the board's own making: nobody waits for it. */
  async #show(card: Record<string, Value>): Promise<string> {
    const turn = ++this.#turn;
    const ready = await readyCard(parseCard(card));
    if (turn < this.#shownTurn) return ready.cardId;
    this.#shownTurn = turn;
    await this.#panel.show(ready.cardId, () => renderCard(ready, this.#status()), {
      patienceMs: 0,
    });
    return ready.cardId;
  }

  #told(card: Card, cardId: string, fate: Fate): Value {
    const answer: Record<string, Value> = { status: fate, card_id: cardId, type: card.type };
    if (fate === 'shown') answer.cut = this.#panel.shown?.picture.cut ?? false;
    else if (fate === 'queued') answer.shown_in_ms = this.#panel.pause;
    return answer;
  }

  async #showError(error: CardError, ctx: VerbContext): Promise<void> {
    const shown = { asked: error.cardType, code: error.code, message: error.message };
    const patienceMs = Math.max(0, ctx.ttlMs - MARGIN_MS);
    await this.#panel.show('error', () => renderError(shown, this.#status()), {
      patienceMs,
      isCard: false,
    });
  }

  #notify(args: Record<string, Value>, ctx: VerbContext): Promise<Value> {
    const { title, body, tag, url } = args;
    const card: Record<string, Value> = {
      type: 'text',
      title: title ?? '',
      body: body ?? '',
      priority: 'alert',
    };
    if (typeof tag === 'string' && tag !== '') card.card_id = `notify:${tag}`.slice(0, 64);
    if (url !== undefined) card.footer = url;
    return this.#render(card, ctx);
  }

  async #snapshot(ctx: VerbContext): Promise<Value> {
    const { framebuffer } = this.#panel;
    const bytes = framebuffer.toPng();
    const cardId = this.#cardId();
    await ctx.blob({ bytes, mediaType: 'image/png', purpose: 'snapshot' });
    const { width, height } = framebuffer;
    return { card_id: cardId, width, height, bytes: bytes.length, media_type: 'image/png' };
  }

  /** Shows the set-up code while it opens the board, and never longer (amendment 10). */
  #pairing(): void {
    const code = this.#host.setupCode;
    if (code !== undefined) {
      const draw = () => renderSetup(code, this.#status());
      void this.#panel.show(SETUP, draw, { patienceMs: 0, isCard: false });
    } else if (!this.#panel.shown || this.#panel.next === SETUP) this.#idle();
  }

  #idle(): void {
    const draw = () => renderIdle(this.#host.boardId, this.#status());
    void this.#panel.show('idle', draw, { patienceMs: 0, isCard: false });
  }

  #cardId(): string | null {
    const shown = this.#panel.shown;
    return shown?.isCard ? shown.cardId : null;
  }

  /** Loses a percent in eight hours, and is charged before it is empty. */
  #battery(): number {
    const hours = (this.#host.clock.now() - this.#bootedAt) / 3_600_000;
    return Math.max(5, Math.round(this.#charge - ((hours / 8) % (this.#charge - 10))));
  }

  #status(): PanelStatus {
    const time = this.#host.gatewayTime();
    const status: PanelStatus = { name: this.#name, battery: this.#battery() };
    if (time) {
      const local = new Date(time.unixMs + time.utcOffsetMin * 60_000);
      status.time = local.toISOString().slice(11, 16);
    }
    return status;
  }
}
