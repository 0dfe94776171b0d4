/**
 * Reads only the fixed headers of an MQTT stream (MQTT 3.1.1, section 2.2), so that a packet's
 * length is known, and refused, before any of its bytes are gathered.
 */
export type MeterFault = 'too_large' | 'malformed';

/** Type of a packet (section 2.2.1). */
const PUBACK = 4;

export class PacketMeter {
  /** Bytes of a whole packet, its fixed header left aside. */
  maxPacket: number;
  /** Packets whose header has been read. */
  packets = 0;
  /** Of those, PUBACK. */
  acks = 0;
  #ack = false;
  #need: 'type' | 'length' | 'body' = 'type';
  #length = 0;
  #shift = 0;

  constructor(maxPacket: number) {
    this.maxPacket = maxPacket;
  }

  /** The first fault in this part of the stream; after one the stream is of no use. */
  feed(chunk: Uint8Array): MeterFault | undefined {
    let at = 0;
    while (at < chunk.length) {
      if (this.#need === 'body') {
        const taken = Math.min(this.#length, chunk.length - at);
        this.#length -= taken;
        at += taken;
        if (this.#length === 0) this.#need = 'type';
        continue;
      }
      const byte = chunk[at] ?? 0;
      at += 1;
      if (this.#need === 'type') {
        this.#need = 'length';
        this.#ack = byte >> 4 === PUBACK;
        this.#length = 0;
        this.#shift = 0;
        continue;
      }
      this.#length += (byte & 0x7f) * 2 ** this.#shift;
      this.#shift += 7;
      if (byte & 0x80) {
        if (this.#shift >= 28) return 'malformed';
        continue;
      }
      if (this.#length > this.maxPacket) return 'too_large';
      this.packets += 1;
      if (this.#ack) this.acks += 1;
      this.#need = this.#length === 0 ? 'type' : 'body';
    }
    return undefined;
  }
}
