// Web Crypto: random values, digests, HMAC.
import { perform, start } from "pi:operations";
import { bytesOf } from "pi:web/encoding";
import { DOMException } from "pi:web/events";

function plain(bytes) {
  return bytes.constructor === Uint8Array ? bytes : new Uint8Array(bytes);
}

function concat(first, second) {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}

function nameOf(algorithm) {
  return String(typeof algorithm === "string" ? algorithm : algorithm?.name).toUpperCase();
}

const hashName = (algorithm) => nameOf(algorithm.hash ?? algorithm).replace("SHA-", "sha");

function unsupported(what) {
  return new DOMException(`crypto.subtle.${what} is not available to extensions in this program`, "NotSupportedError");
}

export class CryptoKey {
  constructor(type, algorithm, extractable, usages, secret) {
    this.type = type;
    this.algorithm = algorithm;
    this.extractable = extractable;
    this.usages = usages;
    Object.defineProperty(this, "secret", { value: secret, enumerable: false });
  }
}

async function sign(key, data) {
  const secret = key.secret;
  const bytes = await start("crypto", "hmac", { algorithm: hashName(key.algorithm), keyLength: secret.length }, concat(secret, plain(bytesOf(data))));
  return bytes.buffer;
}

const subtle = {
  async digest(algorithm, data) {
    const bytes = await start("crypto", "hash", { algorithm: nameOf(algorithm).replace("SHA-", "sha") }, plain(bytesOf(data)));
    return bytes.buffer;
  },
  async importKey(format, data, algorithm, extractable, usages) {
    const name = nameOf(algorithm);
    if (format !== "raw" || (name !== "HMAC" && name !== "PBKDF2")) throw unsupported(`importKey(${format}, ${name})`);
    const hash = algorithm.hash === undefined ? undefined : { name: nameOf(algorithm.hash) };
    return new CryptoKey("secret", { name, ...(hash ? { hash } : {}) }, extractable, [...usages], Uint8Array.from(bytesOf(data)));
  },
  async exportKey(format, key) {
    if (format !== "raw" || !key.extractable) throw unsupported(`exportKey(${format})`);
    return key.secret.slice().buffer;
  },
  async generateKey(algorithm, extractable, usages) {
    if (nameOf(algorithm) !== "HMAC") throw unsupported(`generateKey(${nameOf(algorithm)})`);
    const secret = perform("crypto", "random", { length: (algorithm.length ?? 512) / 8 });
    return new CryptoKey("secret", { name: "HMAC", hash: { name: nameOf(algorithm.hash) } }, extractable, [...usages], secret);
  },
  async sign(algorithm, key, data) {
    if (nameOf(algorithm) !== "HMAC") throw unsupported(`sign(${nameOf(algorithm)})`);
    return sign(key, data);
  },
  async verify(algorithm, key, signature, data) {
    if (nameOf(algorithm) !== "HMAC") throw unsupported(`verify(${nameOf(algorithm)})`);
    const expected = new Uint8Array(await sign(key, data));
    const given = bytesOf(signature);
    let difference = expected.length ^ given.length;
    for (let index = 0; index < expected.length; index++) difference |= expected[index] ^ (given[index] ?? 0);
    return difference === 0;
  },
  async deriveBits(algorithm, key, length) {
    if (nameOf(algorithm) !== "PBKDF2") throw unsupported(`deriveBits(${nameOf(algorithm)})`);
    const options = { algorithm: hashName(algorithm), iterations: algorithm.iterations, length: length / 8, keyLength: key.secret.length };
    const bytes = await start("crypto", "pbkdf2", options, concat(key.secret, plain(bytesOf(algorithm.salt))));
    return bytes.buffer;
  },
};
for (const name of ["encrypt", "decrypt", "deriveKey", "wrapKey", "unwrapKey"]) {
  subtle[name] = async () => {
    throw unsupported(name);
  };
}

export const crypto = {
  subtle,
  getRandomValues(array) {
    if (!ArrayBuffer.isView(array) || array instanceof DataView) throw new TypeError("expected an integer array");
    if (array.byteLength > 65536) throw new DOMException("at most 65536 bytes at a time", "QuotaExceededError");
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(perform("crypto", "random", { length: array.byteLength }));
    return array;
  },
  randomUUID() {
    const bytes = perform("crypto", "random", { length: 16 });
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  },
};
