// tls: the client, with the trust of the platform.
import { Socket, isIP } from "node:net";
import { missing } from "pi:missing";

function unavailable(what) {
  return Object.assign(new Error(`${what} is not available to extensions in this program`), { code: "ERR_NOT_AVAILABLE" });
}

export class TLSSocket extends Socket {
  encrypted = true;
  authorized = false;
  authorizationError = null;
  alpnProtocol = false;
  #version = null;

  constructor(socket, options) {
    if (socket) throw unavailable("TLS over a socket that is open already");
    super(options);
  }
  // How the socket connects: with a handshake.
  _secured(options) {
    if (options.rejectUnauthorized === false) throw unavailable("TLS without looking at certificates (rejectUnauthorized: false)");
    const protocols = (options.ALPNProtocols ?? []).map(String);
    return { secure: options.servername || (options.host ?? options.hostname ?? "localhost"), protocols };
  }
  _connected({ protocol, version }) {
    this.authorized = true;
    this.alpnProtocol = protocol ?? false;
    this.#version = version ?? null;
    queueMicrotask(() => this.emit("secureConnect"));
  }
  getProtocol() {
    return this.#version;
  }
  getCipher() {
    return { name: "unknown", standardName: "unknown", version: this.#version };
  }
  getPeerCertificate() {
    return {};
  }
  getSession() {
    return undefined;
  }
  isSessionReused() {
    return false;
  }
  setServername() {}
  enableTrace() {}
  disableRenegotiation() {}
}

export function connect(...args) {
  const listener = typeof args.at(-1) === "function" ? args.pop() : undefined;
  const [first, second, third] = args;
  const options = typeof first === "object" ? { ...first } : { port: Number(first), ...(typeof second === "string" ? { host: second, ...third } : second) };
  const socket = new TLSSocket(options.socket, options);
  if (listener) socket.once("secureConnect", listener);
  return socket.connect(options);
}

export function createSecureContext(options = {}) {
  return { context: options };
}

export function checkServerIdentity(host) {
  // The handshake has looked already.
  return isIP(host) || host ? undefined : new Error("no name to check");
}

export const rootCertificates = [];
export const DEFAULT_MIN_VERSION = "TLSv1.2";
export const DEFAULT_MAX_VERSION = "TLSv1.3";
export const DEFAULT_ECDH_CURVE = "auto";
export function getCiphers() {
  return ["tls_aes_128_gcm_sha256", "tls_aes_256_gcm_sha384", "tls_chacha20_poly1305_sha256"];
}
export const Server = missing("node:tls", "Server");
export const createServer = missing("node:tls", "createServer");
export default { TLSSocket, connect, createSecureContext, checkServerIdentity, rootCertificates, DEFAULT_MIN_VERSION, DEFAULT_MAX_VERSION, DEFAULT_ECDH_CURVE, getCiphers, Server, createServer };
