import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromHex } from './identity.js';
import { formatSetupCode, parseSetupCode, SetupCodeError } from './setup-code.js';

const SECRET = fromHex('000102030405060708090a0b0c0d0e0f');
const BOARD = 'a1b2c3d4e5f60718';
const CODE = 'MOTE1:A1B2C3D4E5F60718:AAAQEAYEAUDAOCAJBIFQYDIOB4';

function faultOf(text: string): SetupCodeError {
  try {
    parseSetupCode(text);
  } catch (error) {
    if (error instanceof SetupCodeError) return error;
    throw error;
  }
  throw new Error('it was taken');
}

describe('a set-up code', () => {
  it('is written as MOTE1, id and base32', () => {
    expect(formatSetupCode({ boardId: BOARD, secret: SECRET })).toBe(CODE);
  });

  it.each([
    ['as it is', CODE],
    ['in lower case', CODE.toLowerCase()],
    ['without its prefix', CODE.slice(6)],
    ['without its prefix and colons', CODE.slice(6).replace(':', '')],
    ['after what a page put before it', `Scan me! https://pair.example/#${CODE}`],
    ['in groups', CODE.replace(/(....)(?=[^:])/g, '$1 ')],
    ['in groups with dashes of typographers', CODE.replace(/(....)(?=[^:])/g, '$1\u2013')],
    ['over two lines', `MOTE1:A1B2C3D4E5F60718:\r\n  ${CODE.slice(23)}\n`],
    ['with zeros for the letter O', CODE.replace('DAOC', 'DA0C')],
    ['with ones for the letter I', CODE.replaceAll('I', '1')],
    ['with eights for the letter B', CODE.replace('JBIF', 'J8IF').replace('OB4', 'O84')],
    ['with letters for the digits of the id', CODE.replace('A1B2C3D4E5F60718', 'AlB2C3D4E5F6O7I8')],
  ])('is read %s', (_, text) => {
    expect(parseSetupCode(text)).toEqual({ boardId: BOARD, secret: SECRET });
  });

  it.each([
    ['nothing', '', 'not_a_code'],
    ['words', 'hello board', 'not_a_code'],
    ['a long text', 'A'.repeat(10_000), 'not_a_code'],
    ['a part too many', `${CODE}:AA`, 'not_a_code'],
    ['the next version', CODE.replace('MOTE1', 'MOTE2'), 'version'],
    ['an id that is too short', CODE.replace('A1B2', 'A1B'), 'bad_id'],
    ['an id with a letter beyond F', CODE.replace('A1B2', 'A1G2'), 'bad_id'],
    ['a secret that lacks a letter', CODE.slice(0, -1), 'bad_secret'],
    ['a secret with a nine', CODE.replace('AUDA', 'AUD9'), 'bad_secret'],
    ['a last letter with bits that nothing stands for', `${CODE.slice(0, -1)}5`, 'bad_secret'],
  ])('is not read from %s', (_, text, code) => {
    expect(faultOf(text).code).toBe(code);
  });

  it('never stands in an error, not even a part of it', () => {
    const wrong = [
      CODE.slice(0, -1),
      `${CODE.slice(0, -1)}5`,
      `${CODE}A`,
      CODE.replace('A1', 'G1'),
    ];
    for (const text of wrong) {
      const { message } = faultOf(text);
      for (let at = 6; at + 4 <= text.length; at++) {
        expect(message.toUpperCase()).not.toContain(text.slice(at, at + 4));
      }
    }
  });

  it('is read as it was written, for every id and secret', () => {
    const bytes = (n: number) => fc.uint8Array({ minLength: n, maxLength: n });
    fc.assert(
      fc.property(bytes(8), bytes(16), fc.boolean(), (id, secret, lower) => {
        const boardId = Buffer.from(id).toString('hex');
        const code = formatSetupCode({ boardId, secret });
        expect(code).toHaveLength(49);
        expect(parseSetupCode(lower ? code.toLowerCase() : code)).toEqual({ boardId, secret });
      }),
    );
  });

  it('takes or refuses any text, and throws nothing else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        try {
          expect(parseSetupCode(text).secret).toHaveLength(16);
        } catch (error) {
          expect(error).toBeInstanceOf(SetupCodeError);
        }
      }),
    );
  });
});
