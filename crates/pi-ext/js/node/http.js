// http.
import { Agent, ClientRequest, IncomingMessage, METHODS, STATUS_CODES, makeRequest } from "pi:http_client";
import { OutgoingMessage } from "pi:http_outgoing";
import { Server, ServerResponse, createServer } from "pi:http_server";

export const { request, get } = makeRequest("http");
export const globalAgent = new Agent();
export const maxHeaderSize = 65536;
export function validateHeaderName() {}
export function validateHeaderValue() {}
export { Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, Server, ServerResponse, createServer };
export default { Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, Server, ServerResponse, createServer, request, get, globalAgent, maxHeaderSize, validateHeaderName, validateHeaderValue };
