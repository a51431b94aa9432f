/** Random numbers from a seed: xoshiro128** of Blackman and Vigna, its state filled by splitmix32. */
export class Random {
  /** @param {number} seed a whole number; its lowest 32 bits count */
  constructor(seed) {
    let state = seed >>> 0;
    this.state = new Uint32Array(4).map(() => {
      state = (state + 0x9e3779b9) >>> 0;
      let z = state;
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return z ^ (z >>> 15);
    });
  }

  /** 32 random bits. */
  bits() {
    const s = this.state, result = Math.imul(turn(Math.imul(s[1], 5), 7), 9) >>> 0, t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = turn(s[3], 11);
    return result;
  }

  /** Uniform on [low, high), with 53 random bits. */
  uniform(low = 0, high = 1) {
    const unit = ((this.bits() >>> 5) * 67108864 + (this.bits() >>> 6)) / 9007199254740992;
    return low + (high - low) * unit;
  }

  /** Normal with mean 0 and standard deviation 1, by Box and Muller. */
  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }
}

/** @param {number} x @param {number} k */
function turn(x, k) {
  return ((x << k) | (x >>> (32 - k))) >>> 0;
}
