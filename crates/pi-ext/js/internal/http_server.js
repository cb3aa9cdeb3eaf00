// The servers of `http` and `https`: one request at a time on a connection, as local callbacks need it.
import { Buffer } from "node:buffer";
import { Server as SocketServer } from "node:net";
import { IncomingMessage, STATUS_CODES } from "pi:http_client";
import { OutgoingMessage } from "pi:http_outgoing";

const LONGEST_HEAD = 65536;

export class ServerResponse extends OutgoingMessage {
  statusCode = 200;
  statusMessage = undefined;
  headersSent = false;
  sendDate = true;
  #chunked = false;

  constructor(request, socket) {
    super();
    this.req = request;
    this.socket = socket;
    this.connection = socket;
  }

  setTimeout() {
    return this;
  }
  flushHeaders() {
    this.#sendHead();
  }
  writeContinue() {
    this.socket.write("HTTP/1.1 100 Continue\r\n\r\n");
  }

  writeHead(status, message, headers) {
    this.statusCode = status;
    if (typeof message === "string") this.statusMessage = message;
    const given = typeof message === "object" && message !== null ? message : headers;
    const pairs = Array.isArray(given) ? (Array.isArray(given[0]) ? given : given.flatMap((name, index) => (index % 2 === 0 ? [[name, given[index + 1]]] : []))) : Object.entries(given ?? {});
    for (const [name, value] of pairs) this.setHeader(name, value);
    return this;
  }

  #sendHead(length) {
    if (this.headersSent) return;
    this.headersSent = true;
    const isEmpty = this.statusCode === 204 || this.statusCode === 304;
    if (!this.hasHeader("content-length") && !this.hasHeader("transfer-encoding") && !isEmpty) {
      if (length === undefined) {
        this.#chunked = true;
        this.setHeader("Transfer-Encoding", "chunked");
      } else {
        this.setHeader("Content-Length", length);
      }
    }
    if (!this.hasHeader("connection")) this.setHeader("Connection", "close");
    if (this.sendDate && !this.hasHeader("date")) this.setHeader("Date", new Date().toUTCString());
    const lines = [`HTTP/1.1 ${this.statusCode} ${this.statusMessage ?? STATUS_CODES[this.statusCode] ?? ""}`];
    for (const [name, value] of this._headerPairs()) lines.push(`${name}: ${value.replace(/[\r\n]/g, "")}`);
    this.socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  }

  _write(chunk, encoding, done) {
    this.#sendHead(this.writableEnded && this.writableLength === chunk.length ? chunk.length : undefined);
    if (this.req.method === "HEAD") return done();
    const data = this.#chunked ? Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]) : chunk;
    this.socket.write(data, () => done());
  }

  end(chunk, encoding, callback) {
    // The usual answer is one piece; its length is known here.
    if (!this.headersSent && !this.writableLength) {
      const size = chunk === undefined || chunk === null || typeof chunk === "function" ? 0 : Buffer.byteLength(chunk, typeof encoding === "string" ? encoding : undefined);
      this.#sendHead(size);
    }
    return super.end(chunk, encoding, callback);
  }

  _final(done) {
    if (this.#chunked) this.socket.write("0\r\n\r\n");
    this.socket.end(() => done());
  }
}

// Splits a body by its length or its chunks out of what arrives.
function bodyReader(headers, give, finish) {
  let held = Buffer.alloc(0);
  const chunked = /chunked/i.test(headers["transfer-encoding"] ?? "");
  let left = chunked ? 0 : Number(headers["content-length"] ?? 0);
  if (!chunked && left === 0) {
    finish();
    return () => {};
  }
  return (bytes) => {
    held = Buffer.concat([held, bytes]);
    if (!chunked) {
      const part = held.subarray(0, left);
      held = held.subarray(part.length);
      left -= part.length;
      if (part.length > 0) give(part);
      if (left === 0) finish();
      return;
    }
    for (;;) {
      const end = held.indexOf("\r\n");
      if (end < 0) return;
      const size = Number.parseInt(held.toString("latin1", 0, end), 16);
      if (!(size >= 0) || size === 0) {
        finish();
        return;
      }
      if (held.length < end + 2 + size + 2) return;
      give(held.subarray(end + 2, end + 2 + size));
      held = held.subarray(end + 2 + size + 2);
    }
  };
}

// Reads the request of a connection and lets the listeners of a server answer it.
function serve(server, socket) {
  let head = Buffer.alloc(0);
  let feed;
  socket.on("error", (error) => server.emit("clientError", error, socket));
  socket.on("data", (chunk) => {
    if (feed) {
      feed(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) {
      if (head.length > LONGEST_HEAD) socket.end("HTTP/1.1 431 Request Header Fields Too Large\r\n\r\n");
      return;
    }
    const [first, ...lines] = head.toString("latin1", 0, end).split("\r\n");
    const match = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(first);
    if (!match) {
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
      return;
    }
    const request = new IncomingMessage({ read() {} });
    request.method = match[1];
    request.url = match[2];
    request.socket = socket;
    request.connection = socket;
    request.setHeaders(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
    const response = new ServerResponse(request, socket);
    socket.once("close", () => response.destroy());
    feed = bodyReader(request.headers, (part) => request.push(part), () => {
      request.complete = true;
      request.push(null);
    });
    const rest = head.subarray(end + 4);
    if (!server.emit("request", request, response)) response.writeHead(404).end();
    if (rest.length > 0) feed(rest);
  });
}

// Makes the class of a server that answers requests on the connections another one accepts and tells of by `event`.
export function requestServer(Base, event) {
  return class Server extends Base {
    timeout = 0;
    keepAliveTimeout = 5000;
    headersTimeout = 60000;
    requestTimeout = 300000;

    constructor(options, listener) {
      super(typeof options === "function" ? undefined : options);
      const heard = typeof options === "function" ? options : listener;
      if (heard) this.on("request", heard);
      this.on(event, (socket) => serve(this, socket));
    }
    setTimeout() {
      return this;
    }
  };
}

export const Server = requestServer(SocketServer, "connection");

export function createServer(options, listener) {
  return new Server(options, listener);
}
