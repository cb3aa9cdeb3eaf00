// zlib. Streams buffer their input and process it at the end.
import { callSync, start } from "pi:operations";
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";

function bytesOf(data) {
  const buffer = typeof data === "string" ? Buffer.from(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data;
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

const levelOf = (options) => ({ level: options?.level === undefined || options.level < 0 ? undefined : options.level });
const toBuffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function forms(operation) {
  return {
    sync: (data, options) => toBuffer(callSync("zlib", operation, levelOf(options), bytesOf(data))),
    callback(data, options, callback) {
      const done = typeof options === "function" ? options : callback;
      start("zlib", operation, levelOf(options), bytesOf(data)).then((bytes) => done(null, toBuffer(bytes)), done);
    },
    stream(options) {
      const chunks = [];
      return new Transform({
        transform(chunk, encoding, done) {
          chunks.push(chunk);
          done();
        },
        flush(done) {
          start("zlib", operation, levelOf(options), bytesOf(Buffer.concat(chunks))).then((bytes) => done(null, toBuffer(bytes)), done);
        },
      });
    },
  };
}

const all = Object.fromEntries(["gzip", "gunzip", "deflate", "inflate", "deflateRaw", "inflateRaw", "unzip", "brotliCompress", "brotliDecompress", "zstdCompress", "zstdDecompress"].map((name) => [name, forms(name)]));

export const gzipSync = all.gzip.sync;
export const gunzipSync = all.gunzip.sync;
export const deflateSync = all.deflate.sync;
export const inflateSync = all.inflate.sync;
export const deflateRawSync = all.deflateRaw.sync;
export const inflateRawSync = all.inflateRaw.sync;
export const unzipSync = all.unzip.sync;
export const brotliCompressSync = all.brotliCompress.sync;
export const brotliDecompressSync = all.brotliDecompress.sync;
export const zstdCompressSync = all.zstdCompress.sync;
export const zstdDecompressSync = all.zstdDecompress.sync;
export const gzip = all.gzip.callback;
export const gunzip = all.gunzip.callback;
export const deflate = all.deflate.callback;
export const inflate = all.inflate.callback;
export const deflateRaw = all.deflateRaw.callback;
export const inflateRaw = all.inflateRaw.callback;
export const unzip = all.unzip.callback;
export const brotliCompress = all.brotliCompress.callback;
export const brotliDecompress = all.brotliDecompress.callback;
export const zstdCompress = all.zstdCompress.callback;
export const zstdDecompress = all.zstdDecompress.callback;
export const createGzip = all.gzip.stream;
export const createGunzip = all.gunzip.stream;
export const createDeflate = all.deflate.stream;
export const createInflate = all.inflate.stream;
export const createDeflateRaw = all.deflateRaw.stream;
export const createInflateRaw = all.inflateRaw.stream;
export const createUnzip = all.unzip.stream;
export const createBrotliCompress = all.brotliCompress.stream;
export const createBrotliDecompress = all.brotliDecompress.stream;
export const createZstdCompress = all.zstdCompress.stream;
export const createZstdDecompress = all.zstdDecompress.stream;
export const constants = { Z_NO_FLUSH: 0, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, BROTLI_PARAM_QUALITY: 1, ZSTD_c_compressionLevel: 100, ZSTD_CLEVEL_DEFAULT: 3 };
export function crc32(data, value = 0) {
  let crc = ~value;
  for (const byte of bytesOf(data)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
export default { gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, unzipSync, brotliCompressSync, brotliDecompressSync, gzip, gunzip, deflate, inflate, deflateRaw, inflateRaw, unzip, brotliCompress, brotliDecompress, createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip, createBrotliCompress, createBrotliDecompress, zstdCompressSync, zstdDecompressSync, zstdCompress, zstdDecompress, createZstdCompress, createZstdDecompress, constants, crc32 };
