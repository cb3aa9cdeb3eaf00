// tty: extensions have no terminal of their own.
import { Readable, Writable } from "node:stream";

export function isatty() {
  return false;
}
export class ReadStream extends Readable {}
export class WriteStream extends Writable {}
export default { isatty, ReadStream, WriteStream };
