/** What `motebridge start` is told on its command line. */
import type { JsonFlag } from './commands/options.js';

export interface StartFlags extends JsonFlag {
  home?: string;
  host: string;
  port: number;
  brokerHost: string;
  brokerPort: number;
  /** False with --no-broker. */
  broker: boolean;
  mqtt?: string;
  sim?: string;
  publicUrl?: string;
  callHosts?: string;
  callCa?: string;
  firmwareHosts?: string;
  agentUrl?: string;
  agentModel?: string;
  agentSpeechModel?: string;
  agentKeyFile?: string;
  hub?: string;
  token?: string;
  ble?: string;
  bleSlots?: number;
  unpaired?: boolean;
  endpointHost: string;
  endpointPort?: number;
  endpointCert?: string;
  endpointKey?: string;
}
