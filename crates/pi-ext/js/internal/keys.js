// Keys of `crypto`: secret keys as bytes, others as DER, with PEM import and export.
import { callSync } from "pi:operations";
import { Buffer } from "node:buffer";
import { fromJwk, toJwk } from "pi:jwk";

export function cryptoError(message, code, Type = Error) {
  return Object.assign(new Type(message), { code });
}

export function toBytes(data, encoding) {
  if (typeof data === "string") return Buffer.from(data, encoding);
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  if (data instanceof KeyObject) return data.bytes();
  throw cryptoError('The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView', "ERR_INVALID_ARG_TYPE", TypeError);
}

export function native(buffer) {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

// Concatenates the inputs of an operation. Returns the lengths of all but the last, and the bytes.
export function concatInputs(...parts) {
  const buffers = parts.map((part) => toBytes(part));
  return { parts: buffers.slice(0, -1).map((buffer) => buffer.length), bytes: native(Buffer.concat(buffers)) };
}

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/;

// Parses a PEM text into its label and DER bytes.
function fromPem(text) {
  const found = PEM.exec(text);
  if (!found) throw cryptoError("the key is not in PEM format", "ERR_OSSL_UNSUPPORTED");
  const [, label, body] = found;
  if (label.startsWith("ENCRYPTED") || body.includes("ENCRYPTED")) {
    throw cryptoError("encrypted keys are not supported", "ERR_OSSL_UNSUPPORTED");
  }
  return { label, der: Buffer.from(body.replace(/\s+/g, ""), "base64") };
}

function toPem(label, der) {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

export class KeyObject {
  #bytes;
  constructor(type, bytes) {
    this.type = type;
    this.#bytes = bytes;
    if (type !== "secret") {
      const [kind, curve] = callSync("crypto", "keyKind", {}, native(bytes));
      this.asymmetricKeyType = kind;
      this.asymmetricKeyDetails = curve ? { namedCurve: curve } : {};
    }
  }
  static from(key) {
    return key.keyObject;
  }
  get symmetricKeySize() {
    return this.type === "secret" ? this.#bytes.length : undefined;
  }
  bytes() {
    return Buffer.from(this.#bytes);
  }
  equals(other) {
    return other instanceof KeyObject && other.type === this.type && other.#bytes.equals(this.#bytes);
  }
  export(options = {}) {
    if (options.format === "jwk") {
      if (this.type !== "secret") return toJwk(this.type, this.#bytes, this.type === "private" ? publicKeyOf(this.#bytes).bytes() : undefined);
      return { kty: "oct", k: this.#bytes.toString("base64url") };
    }
    if (this.type === "secret" || options.format === "der") return this.bytes();
    if (options.format !== "pem") throw cryptoError(`The property 'options.format' is invalid. Received ${options.format}`, "ERR_INVALID_ARG_VALUE", TypeError);
    return toPem(this.type === "public" ? "PUBLIC KEY" : "PRIVATE KEY", this.#bytes);
  }
}

function parseKeyArgument(key) {
  if (key instanceof KeyObject) return { object: key };
  const isOptions = typeof key === "object" && !ArrayBuffer.isView(key) && !(key instanceof ArrayBuffer);
  const options = isOptions ? key : { key };
  if (options.key instanceof KeyObject) return { object: options.key, options };
  if (options.format === "jwk") {
    const { type, der } = fromJwk(options.key);
    return { der, label: type === "private" ? "PRIVATE KEY" : "PUBLIC KEY", options };
  }
  if (options.format === "der") return { der: toBytes(options.key), label: options.type === "spki" ? "PUBLIC KEY" : undefined, options };
  const text = typeof options.key === "string" ? options.key : toBytes(options.key).toString();
  return { ...fromPem(text), options };
}

export function createSecretKey(key, encoding) {
  return new KeyObject("secret", Buffer.from(toBytes(key, encoding)));
}

export function createPrivateKey(key) {
  const { object, der, label } = parseKeyArgument(key);
  if (object?.type === "private") return object;
  if (label === "PUBLIC KEY") throw cryptoError("not a private key", "ERR_CRYPTO_INVALID_JWK");
  if (object) throw cryptoError("Invalid key object type", "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE", TypeError);
  return new KeyObject("private", der);
}

export function createPublicKey(key) {
  const { object, der, label } = parseKeyArgument(key);
  if (object?.type === "public") return object;
  if (object) return publicKeyOf(object.bytes());
  if (label === "CERTIFICATE") throw cryptoError("extracting keys from certificates is not supported", "ERR_CRYPTO_UNSUPPORTED_OPERATION");
  if (label?.includes("PRIVATE")) return publicKeyOf(der);
  return new KeyObject("public", der);
}

function publicKeyOf(der) {
  const bytes = callSync("crypto", "publicKey", {}, native(der));
  return new KeyObject("public", Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

// Converts signature options to the arguments of the native operation.
export function schemeOf(algorithm, key) {
  const options = typeof key === "object" && key !== null ? key : {};
  return {
    algorithm: String(algorithm ?? "").replace(/^RSA-/i, ""),
    isPss: options.padding === 6,
    isFixed: options.dsaEncoding === "ieee-p1363",
  };
}

const exportKey = (key, encoding) => (encoding ? key.export(encoding) : key);

export function generateKeyPairSync(kind, options = {}) {
  const bytes = callSync("crypto", "generateKey", { kind, curve: options.namedCurve ?? "", length: options.modulusLength ?? 2048 });
  const privateKey = new KeyObject("private", Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  return {
    publicKey: exportKey(createPublicKey(privateKey), options.publicKeyEncoding),
    privateKey: exportKey(privateKey, options.privateKeyEncoding),
  };
}
