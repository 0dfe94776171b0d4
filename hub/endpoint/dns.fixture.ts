/** A name server on loopback that answers what a test says, or nothing. */
import { createSocket } from 'node:dgram';
import { onCleanup } from '../cleanup.fixture.js';

const A = 1;
const AAAA = 28;
const NO_SUCH_NAME = 3;

/** `said` by kind of record; a name without any is unknown. Each address as its bytes. */
export async function nameServer(said: { a?: number[][]; aaaa?: number[][] } | 'silent') {
  const socket = createSocket('udp4');
  let asked: () => void = () => {};
  const questions: string[] = [];
  const first = new Promise<void>((done) => {
    asked = done;
  });
  socket.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12);
    questions.push(nameIn(query.subarray(12, end)));
    asked();
    if (said === 'silent') return;
    const kind = query.readUInt16BE(end + 1);
    const found = (kind === A ? said.a : kind === AAAA ? said.aaaa : []) ?? [];
    const isKnown = said.a !== undefined || said.aaaa !== undefined;
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(0x8180 | (isKnown ? 0 : NO_SUCH_NAME), 2);
    head.writeUInt16BE(found.length, 6);
    head.writeUInt32BE(0, 8);
    const records = found.map((bytes) => {
      // The name of the question, its kind, class 1, a minute, the address.
      const record = [0xc0, 0x0c, 0, kind, 0, 1, 0, 0, 0, 60, 0, bytes.length, ...bytes];
      return Buffer.from(record);
    });
    socket.send(Buffer.concat([head, query.subarray(12, end + 5), ...records]), port, address);
  });
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  onCleanup(() => new Promise((done) => void socket.close(() => done(undefined))));
  return { servers: [`127.0.0.1:${socket.address().port}`], questions, first };
}

function nameIn(labels: Buffer): string {
  const found: string[] = [];
  for (let at = 0; at < labels.length; at += 1 + (labels[at] ?? 0)) {
    found.push(labels.toString('latin1', at + 1, at + 1 + (labels[at] ?? 0)));
  }
  return found.join('.').toLowerCase();
}
