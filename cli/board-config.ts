/** All that a board's firmware needs to reach its gateway, as JSON or as a C header. */
import { mqttPassword, toHex } from '../protocol/identity.js';

/** Where boards find the broker. */
export interface BrokerPlace {
  host: string;
  port: number;
  tls: boolean;
}

export interface BoardConfig {
  boardId: string;
  name: string;
  /** The board's own 16-byte key as hex. Secret. */
  key: string;
  mqtt: {
    host: string;
    port: number;
    tls: boolean;
    clientId: string;
    username: string;
    /** Derived from the key. Secret. */
    password: string;
    topics: { up: string; down: string; state: string };
  };
}

export function boardConfig(
  board: { id: string; name: string },
  key: Uint8Array,
  place: BrokerPlace,
): BoardConfig {
  const topic = (leaf: string): string => `mote/${board.id}/${leaf}`;
  return {
    boardId: board.id,
    name: board.name,
    key: toHex(key),
    mqtt: {
      host: place.host,
      port: place.port,
      tls: place.tls,
      clientId: board.id,
      username: board.id,
      password: mqttPassword(key),
      topics: { up: topic('up'), down: topic('down'), state: topic('state') },
    },
  };
}

/** A C string literal of its UTF-8 bytes: octal, since three digits always end an escape. */
function cString(text: string): string {
  let literal = '';
  for (const byte of new TextEncoder().encode(text)) {
    const plain = byte >= 0x20 && byte < 0x7f && !'"\\?'.includes(String.fromCharCode(byte));
    literal += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `"${literal}"`;
}

function cBytes(hex: string): string {
  return `{ ${(hex.match(/../g) ?? []).map((pair) => `0x${pair}`).join(', ')} }`;
}

export function cHeader(config: BoardConfig): string {
  const { mqtt } = config;
  const lines: [string, string][] = [
    ['BOARD_ID', cString(config.boardId)],
    ['BOARD_ID_BYTES', cBytes(config.boardId)],
    ['BOARD_NAME', cString(config.name)],
    ['BOARD_KEY_BYTES', cBytes(config.key)],
    ['MQTT_HOST', cString(mqtt.host)],
    ['MQTT_PORT', String(mqtt.port)],
    ['MQTT_TLS', mqtt.tls ? '1' : '0'],
    ['MQTT_CLIENT_ID', cString(mqtt.clientId)],
    ['MQTT_USERNAME', cString(mqtt.username)],
    ['MQTT_PASSWORD', cString(mqtt.password)],
    ['MQTT_TOPIC_UP', cString(mqtt.topics.up)],
    ['MQTT_TOPIC_DOWN', cString(mqtt.topics.down)],
    ['MQTT_TOPIC_STATE', cString(mqtt.topics.state)],
  ];
  return [
    '/* One board of a Motebridge gateway. Holds its key: keep it out of version control. */',
    '#ifndef MOTE_CONFIG_H',
    '#define MOTE_CONFIG_H',
    '',
    ...lines.map(([name, value]) => `#define MOTE_${name} ${value}`),
    '',
    '#endif',
    '',
  ].join('\n');
}
