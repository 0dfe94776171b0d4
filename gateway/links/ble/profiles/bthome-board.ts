/** One BTHome sensor: its packets put in order, opened, and turned into readings and events. */
import {
  BTHOME_MIC_BYTES,
  type BthomeContent,
  type BthomePacket,
  type BthomeReading,
  bthomeCounter,
  openBthome,
  readBthome,
  readBthomeObjects,
} from '../../../../protocol/bthome.js';
import { fromHex } from '../../../../protocol/identity.js';
import type { Value } from '../../../../protocol/kinds.js';
import type { Ccm, CcmMaker } from '../../../../protocol/sealing.js';
import type { Timer } from '../../../core/types.js';
import { Bucket } from '../../bucket.js';
import type { KnownBoard, ProfileContext } from '../profile.js';
import { plainAddress, SpokenBoard } from '../spoken-board.js';
import { type BthomeMemory, decodeMemory, encodeMemory } from './bthome-memory.js';
import { CounterGuard, PacketOrder, sameBytes } from './bthome-order.js';
import { Hearing } from './hearing.js';

/** Packets whose verifying is under way or waits; a radio brings fewer in that time. */
const MAX_WAITING = 8;
/** The counter is kept so often; a replay of what came since then would pass after a restart. */
const KEEP_COUNTER_MS = 600_000;
/** Events: so many a second for long, so many at once. */
const EVENTS_PER_S = 2;
const EVENTS_AT_ONCE = 20;

export class BthomeBoard {
  readonly spoken: SpokenBoard;
  readonly #board: KnownBoard;
  readonly #context: ProfileContext;
  readonly #memory: BthomeMemory | undefined;
  readonly #ccm: Promise<Ccm> | undefined;
  readonly #order = new PacketOrder();
  readonly #hearing = new Hearing();
  readonly #bucket: Bucket;
  readonly #counters: CounterGuard;
  #keptAt: number;
  #saved: string | undefined;
  #firmware: string | undefined;
  #deviceType: number | undefined;
  #rssi = 127;
  /** The last encrypted packet that was looked at, whatever came of it. */
  #data: Uint8Array | undefined;
  #silence: Timer | undefined;
  #waiting = 0;
  #turn: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    board: KnownBoard,
    context: ProfileContext,
    ccm: CcmMaker,
    memory: BthomeMemory | undefined,
  ) {
    this.#board = board;
    this.#context = context;
    this.#memory = memory;
    const now = context.clock.now();
    this.#bucket = new Bucket(EVENTS_PER_S, EVENTS_AT_ONCE, now);
    this.#keptAt = now;
    if (board.bindKey) {
      this.#ccm = ccm(board.bindKey, BTHOME_MIC_BYTES);
      // Told with each packet that needs it.
      this.#ccm.catch(() => {});
    }
    const kept = memory?.load(board.boardId);
    this.#saved = kept;
    const known = kept === undefined ? undefined : decodeMemory(kept);
    if (kept !== undefined && !known) context.count('bthome.bad_memory');
    this.#counters = new CounterGuard(now, board.bindKey ? known?.counter : undefined);
    this.#firmware = known?.firmware;
    this.spoken = new SpokenBoard({
      boardId: board.boardId,
      name: `BTHome ${plainAddress(board.address ?? '').slice(-4)}`.trim(),
      platform: 'bthome',
      ...(known?.firmware ? { firmware: known.firmware } : {}),
      readings: known?.readings ?? [],
      verbs: [
        {
          name: 'status',
          signature: '',
          description: 'what the sensor said last, and how long ago; it can’t be asked',
          idempotent: true,
          readOnly: true,
          run: () => this.#status(),
        },
      ],
      context,
    });
  }

  /** Whether it is still the board that the book has; another key is another beginning. */
  is(board: KnownBoard): boolean {
    const [old, now] = [this.#board.bindKey, board.bindKey];
    return old && now ? sameBytes(old, now) : old === now;
  }

  heard(data: Uint8Array, rssi: number): void {
    const { count } = this.#context;
    const packet = readBthome(data);
    if (!packet) count('bthome.bad_packet');
    else if (packet.encrypted !== (this.#ccm !== undefined)) {
      // A sensor with a key is believed under it only: anyone could send in plain.
      count(packet.encrypted ? 'bthome.no_bind_key' : 'bthome.plain_refused');
    } else if (!packet.encrypted) this.#plain(data, packet, rssi);
    else if (this.#data && sameBytes(data, this.#data)) return;
    else if (this.#waiting >= MAX_WAITING) count('bthome.shed');
    else {
      this.#data = data.slice();
      const held = readBthome(this.#data);
      if (!held) return;
      this.#waiting += 1;
      this.#turn = this.#turn
        .then(() => this.#encrypted(held, rssi))
        .catch(() => count('bthome.failed'))
        .finally(() => {
          this.#waiting -= 1;
        });
    }
  }

  close(reason: string): void {
    this.#silence?.cancel();
    this.#keep();
    this.spoken.close(reason);
  }

  /** Nothing is kept: it was removed from the book, and what was kept of it too. */
  stop(reason: string): void {
    this.#stopped = true;
    this.#silence?.cancel();
    this.spoken.stop(reason);
  }

  /** It ends because it has another key, whose counter begins anew. */
  rekeyed(): void {
    this.stop('it has another key now');
    this.#save(undefined);
  }

  #plain(data: Uint8Array, packet: BthomePacket, rssi: number): void {
    const { clock, count } = this.#context;
    const content = readBthomeObjects(packet.body);
    const news = this.#order.judge(data, content.packetId, clock.now());
    if (news === 'new') this.#take(content, packet.trigger, rssi);
    else if (news === 'old') count('bthome.old_packet');
    else {
      this.spoken.readings.put(valuesOf(content));
      this.#hear(packet.trigger, rssi);
    }
  }

  async #encrypted(packet: BthomePacket, rssi: number): Promise<void> {
    const { clock, count } = this.#context;
    const counter = bthomeCounter(packet);
    const address = packet.address ?? macOf(this.#board.address);
    if (counter === undefined || !address) {
      count(address ? 'bthome.bad_packet' : 'bthome.no_address');
      return;
    }
    let body: Uint8Array | undefined;
    try {
      const ccm = await this.#ccm;
      body = ccm && (await openBthome(ccm, address, packet));
    } catch {
      count('bthome.bad_bind_key');
      return;
    }
    if (this.#stopped) return;
    if (!body) {
      count('bthome.bad_mic');
      return;
    }
    const news = this.#counters.judge(counter, clock.now());
    if (news === 'replayed' || news === 'unproven' || news === 'restarted') count(`bthome.${news}`);
    if (news !== 'new' && news !== 'restarted') return;
    this.#take(readBthomeObjects(body), packet.trigger, rssi);
    const due = clock.now() - this.#keptAt >= KEEP_COUNTER_MS;
    if (due || news === 'restarted') this.#keep();
  }

  #take(content: BthomeContent, trigger: boolean, rssi: number): void {
    const { count } = this.#context;
    if (content.stopped) count(`bthome.${content.stopped}`);
    for (let i = 0; i < content.badTexts; i++) count('bthome.bad_text');
    const { readings } = this.spoken;
    const before = readings.defs.length;
    readings.declare(content.readings.map((each) => ({ name: nameOf(each), unit: each.unit })));
    const values = valuesOf(content);
    readings.put(values);
    const { battery } = values;
    if (typeof battery === 'number' && battery <= 100) this.spoken.battery = battery;
    this.#deviceType = content.deviceType ?? this.#deviceType;
    const renewed = content.firmware !== undefined && content.firmware !== this.#firmware;
    if (renewed) {
      this.#firmware = content.firmware;
      this.spoken.firmware = content.firmware ?? '';
    }
    if (renewed || readings.defs.length > before) this.#keep();
    this.#hear(trigger, rssi);
    for (const { name, index, event, steps } of content.events) {
      if (!this.#bucket.take(1, this.#context.clock.now())) count('shed.events');
      else
        this.spoken.event(name, {
          event,
          [name]: index,
          ...(steps === undefined ? {} : { steps }),
        });
    }
  }

  #hear(trigger: boolean, rssi: number): void {
    const { clock } = this.#context;
    this.#rssi = rssi;
    const silenceMs = this.#hearing.heard(clock.now(), trigger);
    this.#silence?.cancel();
    this.#silence = clock.after(silenceMs, () => {
      this.close(`it was not heard for ${Math.round(silenceMs / 60_000)} min`);
    });
    this.spoken.open();
  }

  #status(): Value {
    const now = this.#context.clock.now();
    const ago = Math.round((now - (this.#hearing.heardAt ?? now)) / 1_000);
    return {
      ...this.spoken.readings.all(),
      heard_s_ago: ago,
      ...(this.#rssi === 127 ? {} : { rssi: this.#rssi }),
      ...(this.#deviceType === undefined ? {} : { device_type: this.#deviceType }),
    };
  }

  #keep(): void {
    this.#keptAt = this.#context.clock.now();
    this.#save(this.#counters.last);
  }

  #save(counter: number | undefined): void {
    const text = encodeMemory({
      readings: this.spoken.readings.defs,
      ...(this.#firmware === undefined ? {} : { firmware: this.#firmware }),
      ...(counter === undefined ? {} : { counter }),
    });
    if (text === this.#saved) return;
    this.#saved = text;
    this.#memory?.save(this.#board.boardId, text);
  }
}

/** The first of a name has no number, so that it keeps its name where others come and go. */
function nameOf({ name, index }: BthomeReading): string {
  return index === 1 ? name : `${name}_${index}`;
}

function valuesOf(content: BthomeContent): Record<string, Value> {
  return Object.fromEntries(content.readings.map((each) => [nameOf(each), each.value]));
}

/** Six bytes; undefined where the adapter does not tell addresses. */
function macOf(address: string | undefined): Uint8Array | undefined {
  const plain = plainAddress(address ?? '');
  return /^[0-9a-f]{12}$/.test(plain) ? fromHex(plain) : undefined;
}
