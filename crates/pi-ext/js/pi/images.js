// Image resizing and conversion for models.
import { closeSync, openSync, readSync } from "node:fs";
import { call, request } from "pi:host";
import { getImageDimensions } from "pi:tui/image";

// Number of bytes read to detect an image type.
const HEAD = 4100;

// Resizes an image to the limits of models. Returns null if it cannot be decoded or made small enough.
export async function resizeImage(bytes, mimeType, options = {}) {
  const data = Buffer.from(bytes).toString("base64");
  const resized = await request("utility.resizeImage", { data, mimeType, ...options });
  if (!resized) return null;
  const before = getImageDimensions(data) ?? { widthPx: 0, heightPx: 0 };
  const after = getImageDimensions(resized.data) ?? before;
  return {
    data: resized.data,
    mimeType: resized.mimeType,
    originalWidth: before.widthPx,
    originalHeight: before.heightPx,
    width: after.widthPx,
    height: after.heightPx,
    wasResized: after.widthPx !== before.widthPx || after.heightPx !== before.heightPx,
  };
}

// Converts a base64-encoded image to PNG. Returns null if it cannot be decoded.
export async function convertToPng(data, mimeType) {
  if (mimeType === "image/png") return { data, mimeType };
  const png = await request("utility.convertToPng", { data });
  return png ? { data: png, mimeType: "image/png" } : null;
}

// Returns a note for the model on how to map coordinates of a resized image.
export function formatDimensionNote({ wasResized, originalWidth, originalHeight, width, height }) {
  if (!wasResized) return undefined;
  const scale = (originalWidth / width).toFixed(2);
  return `[Image: original ${originalWidth}x${originalHeight}, displayed at ${width}x${height}. Multiply coordinates by ${scale} to map to the original image.]`;
}

// Returns the MIME type of an image that models support, or null for any other file.
export async function detectSupportedImageMimeTypeFromFile(path) {
  const head = Buffer.alloc(HEAD);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, head, 0, HEAD, 0);
    return call("utility.imageType", { head: head.subarray(0, length).toString("base64") });
  } finally {
    closeSync(file);
  }
}
