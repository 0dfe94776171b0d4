/** A certificate authority of this process alone, for devices that serve TLS where no name is public. */
import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  BasicConstraints,
  Certificate,
  Extension,
  Extensions,
  GeneralName,
  GeneralNames,
  id_ce_basicConstraints,
  id_ce_subjectAltName,
  Name,
  RelativeDistinguishedName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

/** PEM texts. */
export interface TlsIdentity {
  key: string;
  cert: string;
}

export interface LocalCa {
  /** The authority's own certificate (PEM): whoever is given it trusts what the authority issued. */
  readonly cert: string;
  /** A key and certificate for these names or addresses. */
  issue(hosts: readonly string[]): TlsIdentity;
}

const COMMON_NAME = '2.5.4.3';
const ECDSA_SHA256 = '1.2.840.10045.4.3.2';
const DAY_MS = 86_400_000;

/** Good for a year; its key is never written anywhere. */
export function makeCa(name = 'Simulated devices'): LocalCa {
  const own = keyPair();
  const authority = { name, key: createPrivateKey(own.key) };
  const basic = new BasicConstraints({ cA: true });
  const cert = certify(authority, name, own.spki, [
    extension(id_ce_basicConstraints, AsnConvert.serialize(basic), true),
  ]);
  return {
    cert,
    issue(hosts) {
      const pair = keyPair();
      const names = new GeneralNames(
        hosts.map((host) => new GeneralName(isIP(host) ? { iPAddress: host } : { dNSName: host })),
      );
      const alternatives = extension(id_ce_subjectAltName, AsnConvert.serialize(names));
      return { key: pair.key, cert: certify(authority, hosts[0] ?? '', pair.spki, [alternatives]) };
    },
  };
}

function keyPair(): { key: string; spki: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  });
  return { key: privateKey, spki: publicKey };
}

function certify(
  issuer: { name: string; key: KeyObject },
  subject: string,
  spki: Buffer,
  extensions: Extension[],
): string {
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_SHA256 });
  const now = Date.now();
  const serial = randomBytes(16);
  // Positive, and with no byte that its shortest form would leave out.
  serial.writeUInt8((serial.readUInt8(0) & 0x3f) | 0x40, 0);
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: bytesOf(serial),
    signature: algorithm,
    issuer: named(issuer.name),
    validity: new Validity({
      notBefore: new Date(now - DAY_MS),
      notAfter: new Date(now + 365 * DAY_MS),
    }),
    subject: named(subject),
    subjectPublicKeyInfo: AsnConvert.parse(spki, SubjectPublicKeyInfo),
    extensions: new Extensions(extensions),
  });
  const signed = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), issuer.key);
  const whole = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: bytesOf(signed),
  });
  const lines = Buffer.from(AsnConvert.serialize(whole))
    .toString('base64')
    .match(/.{1,64}/g);
  return `-----BEGIN CERTIFICATE-----\n${(lines ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;
}

function named(name: string): Name {
  const value = new AttributeValue({ utf8String: name });
  const common = new AttributeTypeAndValue({ type: COMMON_NAME, value });
  return new Name([new RelativeDistinguishedName([common])]);
}

function extension(extnID: string, content: ArrayBuffer, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(content) });
}

/** An ArrayBuffer of just these bytes. */
function bytesOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}
