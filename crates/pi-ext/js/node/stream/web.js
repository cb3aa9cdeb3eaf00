// stream/web.
import * as streams from "pi:web/streams";

export default { ...streams };
export const { ReadableStream, ReadableStreamDefaultReader, ReadableStreamDefaultController, WritableStream, WritableStreamDefaultWriter, TransformStream, TextDecoderStream, TextEncoderStream, ByteLengthQueuingStrategy, CountQueuingStrategy } = streams;
