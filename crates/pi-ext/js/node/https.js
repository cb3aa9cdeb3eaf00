// https: client and server.
import { Server as SecureServer } from "node:tls";
import { Agent, makeRequest } from "pi:http_client";
import { requestServer } from "pi:http_server";

export const { request, get } = makeRequest("https");
export const globalAgent = new Agent();

export const Server = requestServer(SecureServer, "secureConnection");

export function createServer(options, listener) {
  return new Server(options, listener);
}

export { Agent };
export default { Agent, Server, createServer, request, get, globalAgent };
