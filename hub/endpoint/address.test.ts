import { describe, expect, it } from 'vitest';
import { refusedUrls } from './address.fixture.js';
import { readTarget } from './address.js';

describe('the URL of an endpoint device', () => {
  it.each(refusedUrls(8443))('88: each form is refused: %s', (sentence, urls) => {
    const said = urls.map((url) => [url, readTarget(url, [])]);
    expect(said).toEqual(urls.map((url) => [url, sentence]));
  });

  it.each([
    ['https://Robot.Example', 'https://robot.example'],
    ['https://robot.example:443/a?b#c', 'https://robot.example'],
    ['https://ann:secret@robot.example:8443/x', 'https://robot.example:8443'],
    ['https://robot.example.', 'https://robot.example'],
    ['  https://robot.example/  ', 'https://robot.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['https://1.1.1.1.nip.io', 'https://1.1.1.1.nip.io'],
    ['https://my_robot.example', 'https://my_robot.example'],
  ])('90: %s is kept as %s', (url, origin) => {
    expect(readTarget(url, [])).toMatchObject({ origin, allowed: false });
  });

  it('a host that was allowed by name may be private, at its port where one was named', () => {
    const allowed = ['127.0.0.1:8443', 'nas.local', '[::1]:9443', 'Desk'];
    for (const [url, host, port] of [
      ['https://127.0.0.1:8443/x', '127.0.0.1', 8443],
      ['https://127.1:8443', '127.0.0.1', 8443],
      ['https://nas.local', 'nas.local', 443],
      ['https://nas.local:81', 'nas.local', 81],
      ['https://[::1]:9443', '::1', 9443],
      ['https://desk:5000', 'desk', 5000],
    ] as const) {
      expect(readTarget(url, allowed)).toMatchObject({ host, port, allowed: true });
    }
    for (const url of ['https://127.0.0.1:8444', 'https://127.0.0.2:8443', 'https://x.nas.local']) {
      expect(readTarget(url, allowed)).toBe('url must be a public hostname');
    }
    expect(readTarget('http://nas.local', allowed)).toBe('url must be https');
  });
});
