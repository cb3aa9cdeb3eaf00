// tls: the client, with the trust of the platform or the authorities it is given, and the server.
import { start } from "pi:operations";
import { Buffer } from "node:buffer";
import { Server as SocketServer, Socket, isIP } from "node:net";

// Certificates and keys come as text, as bytes, or as lists of both.
function pemOf(given) {
  if (given === undefined || given === null) return "";
  if (Array.isArray(given)) return given.map(pemOf).join("\n");
  if (typeof given === "string") return given;
  return ArrayBuffer.isView(given) ? Buffer.from(given.buffer, given.byteOffset, given.byteLength).toString() : pemOf(given.pem ?? given.key);
}

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
    if (socket && !(socket instanceof Socket)) throw unavailable("TLS over something that is no socket");
    super(options);
  }
  // How the socket connects: with a handshake.
  _secured(options) {
    if (options.rejectUnauthorized === false) throw unavailable("TLS without looking at certificates (rejectUnauthorized: false)");
    const protocols = (options.ALPNProtocols ?? []).map(String);
    const authorities = pemOf(options.ca ?? options.secureContext?.context.ca);
    return { secure: options.servername || (options.host ?? options.hostname ?? "localhost"), protocols, authorities };
  }
  connect(options, ...rest) {
    if (!options?.socket) return super.connect(options, ...rest);
    const { socket } = options;
    this.connecting = true;
    this.once("close", () => socket.destroy());
    this._open(socket._giveAway().then((id) => start("net", "secure", { id, ...this._secured(options) })));
    return this;
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

export class Server extends SocketServer {
  constructor(options = {}, listener) {
    super();
    const { cert, key, pfx, passphrase, ALPNProtocols } = typeof options === "function" ? {} : options;
    if (pfx || passphrase) throw unavailable("a server's key in PKCS #12 or behind a passphrase");
    const heard = typeof options === "function" ? options : listener;
    if (heard) this.on("secureConnection", heard);
    const protocols = (ALPNProtocols ?? []).map(String);
    let identity;
    this.on("connection", async (raw) => {
      try {
        identity ??= start("net", "identity", { certificate: pemOf(cert), key: pemOf(key), protocols });
        const { id: own } = await identity;
        const socket = new TLSSocket();
        socket._adopt(await start("net", "secureAccepted", { id: await raw._giveAway(), identity: own }));
        socket.once("close", () => raw.destroy());
        this.emit("secureConnection", socket);
      } catch (error) {
        raw.destroy();
        this.emit("tlsClientError", error, raw);
      }
    });
  }
}

export function createServer(options, listener) {
  return new Server(options, listener);
}

export default { TLSSocket, connect, createSecureContext, checkServerIdentity, rootCertificates, DEFAULT_MIN_VERSION, DEFAULT_MAX_VERSION, DEFAULT_ECDH_CURVE, getCiphers, Server, createServer };
