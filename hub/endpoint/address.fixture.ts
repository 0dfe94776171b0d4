/** Every form of URL that must be refused (wire document, part A8). */

const FULL_WIDTH = '１２７．０．０．１';

/** By the sentence of their refusal; `port` is where something listens that must not be asked. */
export function refusedUrls(port: number): [sentence: string, urls: unknown[]][] {
  const at = (...hosts: string[]): string[] => hosts.map((host) => `https://${host}:${port}/`);
  return [
    [
      'url required for an endpoint device',
      [undefined, null, 7, {}, ['https://x.example'], '', ' '],
    ],
    [
      'invalid url',
      [
        'robot',
        '//robot.example',
        'https://',
        'https://[::1',
        `https://a.example:99999`,
        'https://a b.example',
      ],
    ],
    [
      'url must be https',
      [
        `http://127.0.0.1:${port}/`,
        'http://robot.example',
        'ftp://robot.example',
        'file:///etc/passwd',
        'gopher://robot.example',
        'data:text/plain,x',
        'wss://robot.example',
        'javascript:0',
      ],
    ],
    [
      'url must be a public hostname',
      [
        ...at(
          'localhost',
          'LOCALHOST.',
          'foo.localhost',
          'Foo.LocalHost.',
          'localhost.localdomain',
        ),
        ...at('printer.local', 'printer.local.', 'LOCAL.', 'db.internal', 'db.internal.'),
        ...at('metadata.google.internal', 'nas.home.arpa', 'intranet', 'intranet.', 'com'),
        ...at('127.0.0.1', '10.0.0.1', '1.1.1.1', '127.1', '127.0.1', '0', '0.0.0.0', '127.0.0.1.'),
        ...at('0x7f.1', '0x7f.0.0.1', '0177.0.0.1', '017700000001', '2130706433', '0x7f000001'),
        ...at('1.2.3.4.', FULL_WIDTH, '①②⑦.⓪.⓪.①', '127。0。0。1', '%31%32%37.0.0.1'),
        ...at('[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]'),
        ...at('[2606:4700:4700::1111]', '[fe80::1]', '[fd00::1]'),
        ...at('robot.example..', '127.0.0.1..', 'localhost..', 'robot..example', '.example'),
        ...at(`${'a'.repeat(64)}.example`, `${'a.'.repeat(130)}example`, 'a*b.example'),
        ...at(`robot.example@127.0.0.1`, `user:pass@localhost`),
      ],
    ],
    [
      'url must use port 443, or one above 1023',
      [
        'https://robot.example:22',
        'https://robot.example:25/',
        'https://robot.example:1023',
        'https://robot.example:0',
      ],
    ],
  ];
}
