// Pictures, made to fit what models take.
import { closeSync, openSync, readSync } from "node:fs";
import { call, request } from "pi:host";
import { getImageDimensions } from "pi:tui/image";

const HEAD = 4100;

// Makes a picture fit; null where it cannot be read or made small enough.
export async function resizeImage(bytes, mimeType, options = {}) {
  const data = Buffer.from(bytes).toString("base64");
  const fitted = await request("convert.image", { data, mimeType, ...options });
  if (!fitted) return null;
  const before = getImageDimensions(data) ?? { widthPx: 0, heightPx: 0 };
  const after = getImageDimensions(fitted.data) ?? before;
  return {
    data: fitted.data,
    mimeType: fitted.mimeType,
    originalWidth: before.widthPx,
    originalHeight: before.heightPx,
    width: after.widthPx,
    height: after.heightPx,
    wasResized: after.widthPx !== before.widthPx || after.heightPx !== before.heightPx,
  };
}

// Makes a PNG of a picture, given and returned in base64; null where it cannot be read.
export async function convertToPng(data, mimeType) {
  if (mimeType === "image/png") return { data, mimeType };
  const png = await request("convert.png", { data });
  return png ? { data: png, mimeType: "image/png" } : null;
}

// Tells a model how coordinates of a picture that was made smaller are meant.
export function formatDimensionNote({ wasResized, originalWidth, originalHeight, width, height }) {
  if (!wasResized) return undefined;
  const scale = (originalWidth / width).toFixed(2);
  return `[Image: ${originalWidth}x${originalHeight} pixels, shown here as ${width}x${height}; a place in the original is ${scale} times the one seen]`;
}

// Returns the kind of a picture that models take; null for any other file.
export async function detectSupportedImageMimeTypeFromFile(path) {
  const head = Buffer.alloc(HEAD);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, head, 0, HEAD, 0);
    return call("convert.sniff", { head: head.subarray(0, length).toString("base64") });
  } finally {
    closeSync(file);
  }
}
