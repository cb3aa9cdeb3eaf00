// net: sockets and servers.
import { requireModule } from "pi:native";
import { start } from "pi:operations";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { Duplex } from "node:stream";

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

export function isIPv4(text) {
  return typeof text === "string" && IPV4.test(text);
}

export function isIPv6(text) {
  if (typeof text !== "string" || !text.includes(":")) return false;
  const address = text.split("%")[0];
  const halves = address.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const extra = isIPv4(last) ? 1 : 0;
  if (extra) groups.pop();
  const count = groups.length + extra * 2;
  return groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group)) && (halves.length === 2 ? count < 8 : count === 8);
}

export function isIP(text) {
  return isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0;
}

// Converts an address to a number, for range checks.
function toNumber(address) {
  if (isIPv4(address)) return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [head, tail] = address.split("%")[0].split("::");
  const expand = (half) => (half ? half.split(":") : []).flatMap((group) => {
    if (!group.includes(".")) return [group];
    const [a, b, c, d] = group.split(".").map(Number);
    return [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
  });
  const left = expand(head);
  const right = tail === undefined ? [] : expand(tail);
  const middle = tail === undefined ? [] : new Array(8 - left.length - right.length).fill("0");
  return [...left, ...middle, ...right].reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

export class BlockList {
  #rules = [];
  #add(family, low, high, text) {
    this.#rules.push({ family, low, high, text });
  }
  addAddress(address, family = "ipv4") {
    const value = toNumber(address);
    this.#add(family, value, value, `Address: ${family === "ipv6" ? "IPv6" : "IPv4"} ${address}`);
  }
  addRange(from, to, family = "ipv4") {
    this.#add(family, toNumber(from), toNumber(to), `Range: ${family === "ipv6" ? "IPv6" : "IPv4"} ${from}-${to}`);
  }
  addSubnet(address, prefix, family = "ipv4") {
    const bits = BigInt((family === "ipv6" ? 128 : 32) - prefix);
    const low = (toNumber(address) >> bits) << bits;
    this.#add(family, low, low + (1n << bits) - 1n, `Subnet: ${family === "ipv6" ? "IPv6" : "IPv4"} ${address}/${prefix}`);
  }
  check(address, family = "ipv4") {
    const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
    if (family === "ipv6" && mapped && this.check(mapped[1], "ipv4")) return true;
    if (isIP(address) === 0) return false;
    const value = toNumber(address);
    return this.#rules.some((rule) => rule.family === family && value >= rule.low && value <= rule.high);
  }
  get rules() {
    return this.#rules.map((rule) => rule.text);
  }
}

export class Socket extends Duplex {
  #id = undefined;
  #timer = undefined;
  #timeout = 0;
  #isGiven = false;
  connecting = false;
  bytesRead = 0;
  bytesWritten = 0;

  constructor(options = {}) {
    super({ allowHalfOpen: options?.allowHalfOpen ?? false, emitClose: true });
    if (options?._accepted) this.#attach(options._accepted);
  }

  #attach(socket) {
    const { id, local, remote } = socket;
    this.#id = id;
    this._connected?.(socket);
    [this.localAddress, this.localPort] = local ?? [];
    [this.remoteAddress, this.remotePort] = remote ?? [];
    this.remoteFamily = remote ? (isIPv6(remote[0]) ? "IPv6" : "IPv4") : undefined;
    this.connecting = false;
  }

  get pending() {
    return this.#id === undefined;
  }
  get readyState() {
    return this.connecting ? "opening" : this.destroyed ? "closed" : "open";
  }

  connect(...args) {
    const listener = typeof args.at(-1) === "function" ? args.pop() : undefined;
    const [first, host] = args;
    const options = typeof first === "object" && first !== null ? first : typeof first === "string" && Number.isNaN(Number(first)) ? { path: first } : { port: Number(first), host };
    if (listener) this.once("connect", listener);
    this.connecting = true;
    const target = options.path ? { path: options.path } : { host: options.host ?? options.hostname ?? "localhost", port: Number(options.port) };
    const connection = start("net", "connect", { ...target, ...this._secured?.(options) });
    this._open(connection.catch(async (error) => Promise.reject(await requireModule("pi:network_errors").connectionError(error, target))));
    return this;
  }

  // Attaches to a native connection once it is established.
  _open(connection) {
    connection.then(
      (socket) => {
        if (this.destroyed) {
          start("net", "destroy", { id: socket.id });
          return;
        }
        this.#attach(socket);
        this.emit("connect");
        this.emit("ready");
        this._whenReady?.();
      },
      (error) => this.destroy(error),
    );
  }

  // Attaches to an accepted connection.
  _adopt(socket) {
    this.#attach(socket);
  }

  // Releases the native connection, to layer another protocol on top.
  async _giveAway() {
    await this.#ready();
    this.#isGiven = true;
    return this.#id;
  }

  #ready() {
    return this.#id !== undefined ? Promise.resolve() : new Promise((resolve) => {
      const before = this._whenReady;
      this._whenReady = () => {
        before?.();
        resolve();
      };
    });
  }

  async _read() {
    await this.#ready();
    try {
      const bytes = await start("net", "read", { id: this.#id });
      if (this.#isGiven) return;
      this.#touch();
      if (bytes === undefined) {
        this.push(null);
        return;
      }
      this.bytesRead += bytes.length;
      this.push(Buffer.from(bytes.buffer));
    } catch (error) {
      this.destroy(error);
    }
  }

  _write(chunk, encoding, done) {
    this.#ready()
      .then(() => start("net", "write", { id: this.#id }, new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
      .then(() => {
        this.#touch();
        this.bytesWritten += chunk.length;
        done();
      }, done);
  }

  _final(done) {
    this.#ready().then(() => start("net", "end", { id: this.#id })).then(() => done(), done);
  }

  _destroy(error, done) {
    clearTimeout(this.#timer);
    if (this.#id === undefined || this.#isGiven) done(error);
    else start("net", "destroy", { id: this.#id }).then(() => done(error), () => done(error));
  }

  #touch() {
    if (this.#timeout > 0) this.setTimeout(this.#timeout);
  }

  setTimeout(milliseconds, listener) {
    clearTimeout(this.#timer);
    this.#timeout = milliseconds;
    if (listener) this.once("timeout", listener);
    if (milliseconds > 0) this.#timer = setTimeout(() => this.emit("timeout"), milliseconds);
    return this;
  }
  setNoDelay() {
    return this;
  }
  setKeepAlive() {
    return this;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  address() {
    return { address: this.localAddress, port: this.localPort, family: isIPv6(this.localAddress) ? "IPv6" : "IPv4" };
  }
  destroySoon() {
    this.end(() => this.destroy());
  }
  resetAndDestroy() {
    return this.destroy();
  }
}

export class Server extends EventEmitter {
  #id = undefined;
  #address = null;
  #sockets = new Set();
  listening = false;

  constructor(options, listener) {
    super();
    const onConnection = typeof options === "function" ? options : listener;
    if (onConnection) this.on("connection", onConnection);
  }

  listen(...args) {
    const listener = typeof args.at(-1) === "function" ? args.pop() : undefined;
    if (listener) this.once("listening", listener);
    const [first, second] = args;
    const options = typeof first === "object" && first !== null ? first : typeof first === "string" && Number.isNaN(Number(first)) ? { path: first } : { port: Number(first ?? 0), host: typeof second === "string" ? second : undefined };
    const values = options.path ? { path: options.path } : { host: options.host ?? "0.0.0.0", port: Number(options.port ?? 0) };
    start("net", "listen", values).then(
      (server) => {
        this.#id = server.id;
        this.#address = options.path ?? { address: server.address, port: server.port, family: server.family };
        this.listening = true;
        this.emit("listening");
        this.#accept();
      },
      (error) => this.emit("error", requireModule("pi:network_errors").listenError(error, values)),
    );
    return this;
  }

  async #accept() {
    while (this.listening) {
      let accepted;
      try {
        accepted = await start("net", "accept", { id: this.#id });
      } catch (error) {
        this.emit("error", error);
        return;
      }
      if (accepted === undefined) return;
      const socket = new Socket({ _accepted: accepted });
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      // A throwing listener must not stop the accept loop.
      setImmediate(() => this.emit("connection", socket));
    }
  }

  address() {
    return this.#address;
  }
  close(done) {
    if (done) this.once("close", () => done());
    if (this.listening) {
      this.listening = false;
      start("net", "closeServer", { id: this.#id }).then(() => this.emit("close"));
    } else {
      queueMicrotask(() => this.emit("close"));
    }
    return this;
  }
  closeAllConnections() {
    for (const socket of this.#sockets) socket.destroy();
  }
  closeIdleConnections() {}
  getConnections(done) {
    done(null, this.#sockets.size);
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  [Symbol.asyncDispose ?? Symbol.for("asyncDispose")]() {
    return new Promise((resolve) => this.close(resolve));
  }
}

export function connect(...args) {
  return new Socket().connect(...args);
}
export const createConnection = connect;
export function createServer(options, listener) {
  return new Server(options, listener);
}
export const Stream = Socket;
export default { isIP, isIPv4, isIPv6, BlockList, Socket, Stream, Server, connect, createConnection, createServer };
