// https: the client, and the server over TLS.
import { Server as SecureServer } from "node:tls";
import { Agent, makeRequest } from "pi:http_client";
import { serve } from "pi:http_server";

export const { request, get } = makeRequest("https");
export const globalAgent = new Agent();

export class Server extends SecureServer {
  timeout = 0;
  keepAliveTimeout = 5000;
  headersTimeout = 60000;
  requestTimeout = 300000;

  constructor(options, listener) {
    super(typeof options === "function" ? {} : options);
    const heard = typeof options === "function" ? options : listener;
    if (heard) this.on("request", heard);
    this.on("secureConnection", (socket) => serve(this, socket));
  }
  setTimeout() {
    return this;
  }
}

export function createServer(options, listener) {
  return new Server(options, listener);
}

export { Agent };
export default { Agent, Server, createServer, request, get, globalAgent };
