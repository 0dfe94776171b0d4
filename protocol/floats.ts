/** Which floats fit 16 and 32 bits without loss (IEEE 754; RFC 8949, section 4.2.1). */

const scratch = new DataView(new ArrayBuffer(8));

/** The float32 bits of a number that `Math.fround` keeps. */
export function float32Bits(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
}

export function float32Of(bits: number): number {
  scratch.setUint32(0, bits);
  return scratch.getFloat32(0);
}

export function float64Of(high: number, low: number): number {
  scratch.setUint32(0, high);
  scratch.setUint32(4, low);
  return scratch.getFloat64(0);
}

/** The float16 bits that hold the same value as these float32 bits, or −1; NaN is 7e00. */
export function halfOf(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const biased = (bits >>> 23) & 0xff;
  const fraction = bits & 0x7f_ffff;
  if (biased === 0xff) return fraction === 0 ? sign | 0x7c00 : 0x7e00;
  if (biased === 0) return fraction === 0 ? sign : -1;
  const exponent = biased - 127;
  if (exponent > 15 || exponent < -24) return -1;
  if (exponent >= -14) {
    return (fraction & 0x1fff) === 0 ? sign | ((exponent + 15) << 10) | (fraction >>> 13) : -1;
  }
  // Subnormal: the value must be a multiple of 2^−24.
  const drop = -1 - exponent;
  const whole = 0x80_0000 | fraction;
  return (whole & ((1 << drop) - 1)) === 0 ? sign | (whole >>> drop) : -1;
}
