"use strict";

// Serves the page of pi to one webview.
//
// The page must not be framed and its cookie is not sent in frames, so that other sites cannot use it. A webview is a
// frame, so it gets the page through this proxy: on loopback, under a host name that is a secret of this window. Other
// pages and processes do not know the name and are refused. The proxy connects to the private socket of pi.

const { randomBytes } = require("node:crypto");
const http = require("node:http");

/** Headers that are about this connection or about the frame. */
const DROPPED = new Set(["host", "origin", "referer", "cookie", "connection", "keep-alive", "upgrade", "transfer-encoding"]);

class PageProxy {
  #socket;
  #server;
  #host;

  /** @param {() => string} socket returns the socket of `pi serve` */
  constructor(socket) {
    this.#socket = socket;
  }

  /** Starts the proxy and returns the origin of the page. */
  async start() {
    if (!this.#server) {
      const server = http.createServer((request, response) => this.#forward(request, response));
      await new Promise((resolve, reject) => {
        server.once("error", reject);
        server.listen(0, "127.0.0.1", resolve);
      });
      this.#server = server;
      this.#host = `pi-${randomBytes(16).toString("hex")}.localhost:${server.address().port}`;
    }
    return `http://${this.#host}`;
  }

  get port() {
    return this.#server?.address().port;
  }

  #isAllowed({ headers, method }) {
    if (headers.host !== this.#host) return false;
    const isRead = method === "GET" || method === "HEAD";
    if (headers.origin !== undefined) return headers.origin === `http://${this.#host}`;
    return isRead;
  }

  #forward(request, response) {
    if (!this.#isAllowed(request)) {
      response.writeHead(403).end();
      return;
    }
    const headers = { host: "localhost" };
    for (const [name, value] of Object.entries(request.headers)) {
      if (!DROPPED.has(name) && !name.startsWith("sec-")) headers[name] = value;
    }
    const options = { socketPath: this.#socket(), method: request.method, path: request.url, headers };
    const upstream = http.request(options, (reply) => {
      const replied = { ...reply.headers };
      delete replied["set-cookie"];
      delete replied["x-frame-options"];
      const policy = replied["content-security-policy"];
      if (policy) replied["content-security-policy"] = policy.replace("frame-ancestors 'none'", "frame-ancestors vscode-webview:");
      response.writeHead(reply.statusCode, replied);
      reply.pipe(response);
    });
    upstream.on("error", () => {
      if (!response.headersSent) response.writeHead(502);
      response.end("pi serve is not running");
    });
    // A closed panel ends its event streams.
    response.on("close", () => upstream.destroy());
    request.pipe(upstream);
  }

  dispose() {
    this.#server?.closeAllConnections();
    this.#server?.close();
    this.#server = undefined;
  }
}

module.exports = { PageProxy };
