// Images, with a text fallback for terminals that cannot show them.
import { query } from "pi:terminal";
import { getCapabilities, getCellDimensions } from "pi:tui/capabilities";
import { truncateToWidth } from "pi:tui/measure";

const DEFAULT_MAX_WIDTH = 60;
const UNKNOWN_SIZE = { widthPx: 800, heightPx: 600 };

export function allocateImageId() {
  return 1 + Math.floor(Math.random() * 0xfffffffe);
}

export function getImageDimensions(base64Data) {
  return query("image.dimensions", { data: base64Data });
}
const dimensionsIf = (isType) => (data) => (isType(data) ? getImageDimensions(data) : null);
export const getPngDimensions = dimensionsIf((data) => data.startsWith("iVBORw0KGgo"));
export const getJpegDimensions = dimensionsIf((data) => data.startsWith("/9j"));
export const getGifDimensions = dimensionsIf((data) => data.startsWith("R0lGOD"));
export const getWebpDimensions = dimensionsIf((data) => data.startsWith("UklGR"));

function cellsOf(dimensions, maxColumns, maxRows, cell = getCellDimensions()) {
  return query("image.cells", {
    width: dimensions.widthPx,
    height: dimensions.heightPx,
    maxColumns,
    maxRows,
    cellWidth: cell.widthPx,
    cellHeight: cell.heightPx,
  });
}
export function calculateImageRows(dimensions, columns, cell) {
  return cellsOf(dimensions, columns, undefined, cell).rows;
}

export function encodeKitty(base64Data, options = {}) {
  return query("image.kitty", {
    data: base64Data,
    id: options.imageId ?? allocateImageId(),
    columns: options.columns ?? 1,
    rows: options.rows ?? 1,
  });
}
export function encodeITerm2(base64Data, options = {}) {
  return query("image.iterm2", { data: base64Data, columns: Number.parseInt(options.width, 10) || 1, name: options.name });
}
export function deleteKittyImage(imageId) {
  return query("image.deletion", { id: imageId });
}
export function deleteAllKittyImages() {
  return query("image.deletion");
}
export function imageFallback(mimeType, dimensions, filename) {
  return query("image.fallback", { mimeType, width: dimensions?.widthPx, height: dimensions?.heightPx, name: filename });
}

// Returns the escape sequence of an image, or null if the terminal cannot show images.
export function renderImage(base64Data, dimensions, options = {}) {
  const { images } = getCapabilities();
  if (!images) return null;
  const { columns, rows } = cellsOf(dimensions, options.maxWidthCells ?? 80, options.maxHeightCells);
  if (images === "iterm2") return { sequence: encodeITerm2(base64Data, { width: columns }), columns, rows };
  const imageId = options.imageId ?? allocateImageId();
  return { sequence: encodeKitty(base64Data, { columns, rows, imageId }), columns, rows, imageId };
}

export class Image {
  #data;
  #mimeType;
  #theme;
  #options;
  #dimensions;
  #imageId;
  #rendered;

  constructor(base64Data, mimeType, theme, options = {}, dimensions = undefined) {
    this.#data = base64Data;
    this.#mimeType = mimeType;
    this.#theme = theme;
    this.#options = options;
    this.#dimensions = dimensions ?? getImageDimensions(base64Data) ?? UNKNOWN_SIZE;
    this.#imageId = options.imageId;
  }
  getImageId() {
    return this.#imageId;
  }
  invalidate() {
    this.#rendered = undefined;
  }
  render(width) {
    if (this.#rendered?.width !== width) this.#rendered = { width, lines: this.#renderLines(width) };
    return this.#rendered.lines;
  }
  #renderLines(width) {
    const columns = Math.max(1, Math.min(width - 2, this.#options.maxWidthCells ?? DEFAULT_MAX_WIDTH));
    const cell = getCellDimensions();
    const square = Math.max(1, Math.ceil((columns * cell.widthPx) / cell.heightPx));
    const { images } = getCapabilities();
    if (images === "kitty") this.#imageId ??= allocateImageId();
    const rendered = renderImage(this.#data, this.#dimensions, {
      maxWidthCells: columns,
      maxHeightCells: this.#options.maxHeightCells ?? square,
      imageId: this.#imageId,
    });
    if (!rendered) {
      const text = imageFallback(this.#mimeType, this.#dimensions, this.#options.filename);
      return [truncateToWidth(this.#theme.fallbackColor(text), width)];
    }
    // One line per row of the image, so that the following content is placed below it.
    const lines = Array.from({ length: rendered.rows }, () => "");
    if (images === "kitty") lines[0] = rendered.sequence;
    else lines[rendered.rows - 1] = (rendered.rows > 1 ? `\u001b[${rendered.rows - 1}A` : "") + rendered.sequence;
    return lines;
  }
}
