/** Bytes on the wire of each message, before sealing. */
import { Encoder } from 'cbor-x';
import { encodeMessage } from '../../protocol/codec.js';
import type { Report, Section } from './report.js';
import { verdict } from './report.js';
import { jsonOf, namedOf, SAMPLES } from './samples.js';

const keyed = new Encoder({ useRecords: false, variableMapSize: true, tagUint8Array: false });

function measure(): Report {
  const report: Report = {
    section: 'bytes',
    title: 'one message, before its seal byte and seal',
    baseline: 'the same content as JSON under its names (bytes as base64url)',
    columns: [
      { key: 'message', title: 'message' },
      { key: 'json', title: 'JSON' },
      { key: 'keyed', title: 'cbor-x, string keys' },
      { key: 'frame', title: 'frame' },
      { key: 'ratio', title: 'of JSON', digits: 2 },
      { key: 'keyedRatio', title: 'of cbor-x', digits: 2 },
      { key: 'overhead', title: 'overhead' },
      { key: 'aim', title: 'aim' },
      { key: 'verdict', title: '' },
    ],
    rows: [],
    aims: [],
    notes: [
      'overhead is what stands around the arguments or the value that the caller asked to carry',
      'ids, uptimes and boots are as large as long use makes them; JSON has readings as decimals, the frame as scaled integers of the catalog',
    ],
  };
  for (const sample of SAMPLES) {
    const frame = encodeMessage(sample.message).length;
    const json = Buffer.byteLength(JSON.stringify(jsonOf(sample)));
    const cbor = keyed.encode(namedOf(sample)).length;
    const overhead = sample.payload ? frame - sample.payload.length : null;
    const { aim } = sample;
    const figure = aim?.of === 'overhead' ? (overhead ?? frame) : frame;
    report.rows.push({
      message: sample.name,
      json,
      keyed: cbor,
      frame,
      ratio: frame / json,
      keyedRatio: frame / cbor,
      overhead,
      aim: aim ? `${aim.of === 'overhead' ? 'overhead ' : ''}≤ ${aim.bytes}` : null,
      verdict: aim ? verdict(figure <= aim.bytes) : null,
    });
    if (!aim) continue;
    report.aims.push({
      name: sample.name,
      says: `${figure} bytes${aim.of === 'overhead' ? ' of overhead' : ''}, aim ≤ ${aim.bytes}`,
      figure,
      met: figure <= aim.bytes,
    });
  }
  return report;
}

export const bytes: Section = { name: 'bytes', run: async () => measure() };
