// tty. Extensions have no direct access to the terminal.
import { Readable, Writable } from "node:stream";

export function isatty() {
  return false;
}
export class ReadStream extends Readable {}
export class WriteStream extends Writable {}
export default { isatty, ReadStream, WriteStream };
