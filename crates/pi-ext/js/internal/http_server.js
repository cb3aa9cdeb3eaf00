// The servers of `http` and `https`. One request per connection, which is enough for local callbacks.
import { Buffer } from "node:buffer";
import { Server as SocketServer } from "node:net";
import { IncomingMessage, STATUS_CODES } from "pi:http_client";
import { OutgoingMessage } from "pi:http_outgoing";

const MAX_HEAD = 65536;

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
    const headerArgument = typeof message === "object" && message !== null ? message : headers;
    const pairs = Array.isArray(headerArgument) ? (Array.isArray(headerArgument[0]) ? headerArgument : headerArgument.flatMap((name, index) => (index % 2 === 0 ? [[name, headerArgument[index + 1]]] : []))) : Object.entries(headerArgument ?? {});
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
    // Most responses are a single chunk, whose length is known here.
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

// Extracts a body from the incoming bytes, by content length or chunked encoding.
function bodyReader(headers, onData, onEnd) {
  let buffered = Buffer.alloc(0);
  const chunked = /chunked/i.test(headers["transfer-encoding"] ?? "");
  let remaining = chunked ? 0 : Number(headers["content-length"] ?? 0);
  if (!chunked && remaining === 0) {
    onEnd();
    return () => {};
  }
  return (bytes) => {
    buffered = Buffer.concat([buffered, bytes]);
    if (!chunked) {
      const part = buffered.subarray(0, remaining);
      buffered = buffered.subarray(part.length);
      remaining -= part.length;
      if (part.length > 0) onData(part);
      if (remaining === 0) onEnd();
      return;
    }
    for (;;) {
      const end = buffered.indexOf("\r\n");
      if (end < 0) return;
      const size = Number.parseInt(buffered.toString("latin1", 0, end), 16);
      if (!(size >= 0) || size === 0) {
        onEnd();
        return;
      }
      if (buffered.length < end + 2 + size + 2) return;
      onData(buffered.subarray(end + 2, end + 2 + size));
      buffered = buffered.subarray(end + 2 + size + 2);
    }
  };
}

// Returns the event of a request that asks for another protocol.
function upgradeEvent({ method, headers }) {
  if (method === "CONNECT") return "connect";
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? "") ? "upgrade" : undefined;
}

// Reads the request of a connection and emits it to the listeners of a server.
function serve(server, socket) {
  let head = Buffer.alloc(0);
  let feed;
  const onError = (error) => server.emit("clientError", error, socket);
  socket.on("error", onError);
  socket.on("data", function onData(chunk) {
    if (feed) {
      feed(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) {
      if (head.length > MAX_HEAD) socket.end("HTTP/1.1 431 Request Header Fields Too Large\r\n\r\n");
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
    const rest = head.subarray(end + 4);
    const upgrade = upgradeEvent(request);
    if (upgrade !== undefined && server.listenerCount(upgrade) > 0) {
      // The connection belongs to the listener now.
      socket.removeListener("data", onData);
      socket.removeListener("error", onError);
      socket.readableFlowing = null;
      request.upgrade = true;
      server.emit(upgrade, request, socket, rest);
      return;
    }
    if (upgrade === "connect") {
      socket.destroy();
      return;
    }
    const response = new ServerResponse(request, socket);
    socket.once("close", () => response.destroy());
    feed = bodyReader(request.headers, (part) => request.push(part), () => {
      request.complete = true;
      request.push(null);
    });
    if (!server.emit("request", request, response)) response.writeHead(404).end();
    if (rest.length > 0) feed(rest);
  });
}

// Returns a server class that handles requests on the connections that `Base` reports with `event`.
export function requestServer(Base, event) {
  return class Server extends Base {
    timeout = 0;
    keepAliveTimeout = 5000;
    headersTimeout = 60000;
    requestTimeout = 300000;

    constructor(options, listener) {
      super(typeof options === "function" ? undefined : options);
      const onRequest = typeof options === "function" ? options : listener;
      if (onRequest) this.on("request", onRequest);
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
