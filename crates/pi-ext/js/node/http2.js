// http2: only the names that libraries read when they load. Connections are not supported.
import { missing } from "pi:missing";

export const constants = { HTTP2_HEADER_AUTHORITY: ":authority", HTTP2_HEADER_METHOD: ":method", HTTP2_HEADER_PATH: ":path", HTTP2_HEADER_SCHEME: ":scheme", HTTP2_HEADER_STATUS: ":status", HTTP2_HEADER_PROTOCOL: ":protocol", HTTP2_HEADER_CONTENT_LENGTH: "content-length", HTTP2_HEADER_CONTENT_TYPE: "content-type", HTTP2_HEADER_EXPECT: "expect", NGHTTP2_CANCEL: 8, NGHTTP2_NO_ERROR: 0, NGHTTP2_REFUSED_STREAM: 7 };
export const connect = missing("node:http2", "connect");
export const createServer = missing("node:http2", "createServer");
export const createSecureServer = missing("node:http2", "createSecureServer");
export default { constants, connect, createServer, createSecureServer };
