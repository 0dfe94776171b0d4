/** What segments cost on the air, beside what BTP and SMP would cost for the same messages. */
import { SEALED_OVERHEAD } from '../../protocol/channel.js';
import { Segmenter } from '../../protocol/segments.js';
import { type Report, type Section, verdict } from './report.js';

const MTUS = [23, 185, 247, 512] as const;
const MESSAGES = [20, 200, 1_000] as const;
/** Segments up to which SMP's cost is an aim too. */
const MANY = 6;
/** Opcode and handle of a notification or a write (Core 5.4, Vol 3 Part F 3.4.7.1). */
const ATT = 3;

/** Bytes of ATT packets, given those of their values. */
const onAir = (values: readonly number[]): number =>
  values.reduce((sum, bytes) => sum + bytes + ATT, 0);

function ours(message: number, mtu: number): number[] {
  const segmenter = new Segmenter({ payload: mtu - ATT, window: 65_535 });
  const values: number[] = [];
  // As a peer that keeps up: credit for each batch, which goes the other way.
  for (let batch = segmenter.add(new Uint8Array(message)); batch.length > 0; ) {
    values.push(...batch.map(({ length }) => length));
    batch = segmenter.take({ kind: 'credit', number: values.length & 63 });
  }
  return values;
}

/**
 * BTP (Matter 1.3, 4.19.3.1): flags, sequence and the length of the message in its first segment,
 * flags and sequence in the others; a segment has at most 244 bytes. No acknowledgement counted.
 */
function btp(message: number, mtu: number): number[] {
  const most = Math.min(244, mtu - ATT);
  const values: number[] = [];
  for (let left = message, head = 4; left > 0; head = 2) {
    const take = Math.min(left, most - head);
    values.push(head + take);
    left -= take;
  }
  return values;
}

/** SMP over BLE: a header of 8 bytes before the message, the whole cut as the MTU says. */
function smp(message: number, mtu: number): number[] {
  const values: number[] = [];
  for (let left = message + 8; left > 0; left -= mtu - ATT) values.push(Math.min(left, mtu - ATT));
  return values;
}

async function run(): Promise<Report> {
  const rows: Report['rows'] = [];
  const aims: Report['aims'] = [];
  for (const mtu of MTUS) {
    for (const plain of MESSAGES) {
      const message = plain + SEALED_OVERHEAD;
      const own = onAir(ours(message, mtu));
      const others = { btp: onAir(btp(message, mtu)), smp: onAir(smp(message, mtu)) };
      const least = Math.min(others.btp, others.smp);
      // SMP numbers nothing: what we number costs a byte a segment, and it has none to save more.
      const aim = ours(message, mtu).length <= MANY ? least : others.btp;
      rows.push({
        what: `MTU ${mtu}, ${plain} bytes sealed`,
        own,
        share: (message / own) * 100,
        ...others,
        ratio: own / least,
      });
      const met = own <= aim;
      const says = `${own} bytes, at or below ${aim}: ${verdict(met)}`;
      aims.push({ name: `MTU ${mtu}, ${plain} bytes`, says, figure: own, met });
      if (mtu !== 247 || plain < 200) continue;
      const share = message / own;
      aims.push({
        name: `payload at MTU ${mtu}, ${plain} bytes`,
        says: `${share.toFixed(3)} of the bytes, 0.93 or better: ${verdict(share >= 0.93)}`,
        figure: share,
        met: share >= 0.93,
      });
    }
  }
  return {
    section: 'segments',
    title: 'bytes of ATT packets for one sealed message',
    baseline: 'the smaller of BTP and SMP, computed for the same message',
    columns: [
      { key: 'what', title: 'message' },
      { key: 'own', title: 'bytes' },
      { key: 'share', title: '% payload', digits: 1 },
      { key: 'btp', title: 'BTP' },
      { key: 'smp', title: 'SMP' },
      { key: 'ratio', title: '×', digits: 3 },
    ],
    rows,
    aims,
    notes: [
      `a sealed message has ${SEALED_OVERHEAD} bytes more than a plain one; all three carry it`,
      `BTP's cost is the aim at every size, SMP's up to ${MANY} segments`,
      'ours and BTP can acknowledge and begin again at a loss; SMP over BLE cuts where the MTU says, numbers nothing, and leaves that to the link',
    ],
  };
}

export const segments: Section = { name: 'segments', run };
