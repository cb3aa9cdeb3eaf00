// Pictures, where the terminal shows them; elsewhere a line about them.
import { answer } from "pi:terminal";
import { getCapabilities, getCellDimensions } from "pi:tui/capabilities";
import { truncateToWidth } from "pi:tui/measure";

const WIDEST = 60;
const UNKNOWN_SIZE = { widthPx: 800, heightPx: 600 };

export function allocateImageId() {
  return 1 + Math.floor(Math.random() * 0xfffffffe);
}

export function getImageDimensions(base64Data) {
  return answer("image.dimensions", { data: base64Data });
}
const dimensionsIf = (isOfKind) => (data) => (isOfKind(data) ? getImageDimensions(data) : null);
export const getPngDimensions = dimensionsIf((data) => data.startsWith("iVBORw0KGgo"));
export const getJpegDimensions = dimensionsIf((data) => data.startsWith("/9j"));
export const getGifDimensions = dimensionsIf((data) => data.startsWith("R0lGOD"));
export const getWebpDimensions = dimensionsIf((data) => data.startsWith("UklGR"));

function cellsOf(dimensions, maxColumns, maxRows, cell = getCellDimensions()) {
  return answer("image.cells", {
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
  return answer("image.kitty", {
    data: base64Data,
    id: options.imageId ?? allocateImageId(),
    columns: options.columns ?? 1,
    rows: options.rows ?? 1,
  });
}
export function encodeITerm2(base64Data, options = {}) {
  return answer("image.iterm2", { data: base64Data, columns: Number.parseInt(options.width, 10) || 1, name: options.name });
}
export function deleteKittyImage(imageId) {
  return answer("image.deletion", { id: imageId });
}
export function deleteAllKittyImages() {
  return answer("image.deletion");
}
export function imageFallback(mimeType, dimensions, filename) {
  return answer("image.fallback", { mimeType, width: dimensions?.widthPx, height: dimensions?.heightPx, name: filename });
}

// Returns the sequence that shows a picture; null where the terminal shows none.
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
  #drawn;

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
    this.#drawn = undefined;
  }
  render(width) {
    if (this.#drawn?.width !== width) this.#drawn = { width, lines: this.#lay(width) };
    return this.#drawn.lines;
  }
  #lay(width) {
    const columns = Math.max(1, Math.min(width - 2, this.#options.maxWidthCells ?? WIDEST));
    const cell = getCellDimensions();
    const square = Math.max(1, Math.ceil((columns * cell.widthPx) / cell.heightPx));
    const { images } = getCapabilities();
    if (images === "kitty") this.#imageId ??= allocateImageId();
    const picture = renderImage(this.#data, this.#dimensions, {
      maxWidthCells: columns,
      maxHeightCells: this.#options.maxHeightCells ?? square,
      imageId: this.#imageId,
    });
    if (!picture) {
      const told = imageFallback(this.#mimeType, this.#dimensions, this.#options.filename);
      return [truncateToWidth(this.#theme.fallbackColor(told), width)];
    }
    // As many lines as the picture is high, so that what follows stands below it.
    const lines = Array.from({ length: picture.rows }, () => "");
    if (images === "kitty") lines[0] = picture.sequence;
    else lines[picture.rows - 1] = (picture.rows > 1 ? `\u001b[${picture.rows - 1}A` : "") + picture.sequence;
    return lines;
  }
}
