// Colors: parsing, conversion between sRGB, OKLCH and OKHSL, and escape sequences. The color spaces are those of
// Björn Ottosson's OKLab.
import { getCapabilities } from "pi:tui/capabilities";

const CUBE = [0, 95, 135, 175, 215, 255];
const GRAYS = Array.from({ length: 24 }, (_, index) => 8 + index * 10);
const BASIC = [
  [0, 0, 0], [128, 0, 0], [0, 128, 0], [128, 128, 0], [0, 0, 128], [128, 0, 128], [0, 128, 128], [192, 192, 192],
  [128, 128, 128], [255, 0, 0], [0, 255, 0], [255, 255, 0], [0, 0, 255], [255, 0, 255], [0, 255, 255], [255, 255, 255],
];
const K1 = 0.206;
const K2 = 0.03;
const K3 = (1 + K1) / (1 + K2);
const GAMUT_TOLERANCE = 1e-7;

function within(name, value, low, high) {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new Error(`${name} is not a finite number: ${value}`);
  if (value < low || value > high) throw new Error(`${name} is not between ${low} and ${high}: ${value}`);
}

export function indexedColor(index) {
  if (!Number.isInteger(index) || index < 0 || index > 255) throw new Error(`a palette index is an integer from 0 to 255: ${index}`);
  return Object.freeze({ kind: "indexed", index });
}

export function rgbColor(r, g, b) {
  for (const [name, value] of Object.entries({ r, g, b })) within(name, value, 0, 255);
  return Object.freeze({ kind: "rgb", r, g, b });
}

const turned = (degrees) => ((degrees % 360) + 360) % 360;

export function oklchColor(l, c, h) {
  within("l", l, 0, 1);
  within("c", c, 0, Infinity);
  within("h", h, -Infinity, Infinity);
  return Object.freeze({ kind: "oklch", l, c, h: turned(h) });
}

export function okhslColor(h, s, l) {
  within("h", h, -Infinity, Infinity);
  within("s", s, 0, 1);
  within("l", l, 0, 1);
  const [r, g, b] = okhslToRgb(turned(h), s, l);
  return rgbColor(r, g, b);
}

const NUMBER = String.raw`([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)`;
const OKLCH = new RegExp(String.raw`^oklch\(\s*${NUMBER}(%)?\s+${NUMBER}\s+${NUMBER}(?:deg)?\s*\)$`, "i");
const OKHSL = new RegExp(String.raw`^okhsl\(\s*${NUMBER}(?:deg)?\s+${NUMBER}(%)?\s+${NUMBER}(%)?\s*\)$`, "i");

// Parses `#rgb`, `#rrggbb`, `oklch(…)`, `okhsl(…)` or a palette index.
export function parseColor(value) {
  if (typeof value === "number") return indexedColor(value);
  const short = /^#([\da-f])([\da-f])([\da-f])$/i.exec(value);
  const long = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(value);
  if (short || long) return rgbColor(...(short?.slice(1).map((digit) => digit + digit) ?? long.slice(1)).map((part) => Number.parseInt(part, 16)));
  const scaled = (text, percent) => Number(text) / (percent ? 100 : 1);
  const oklch = OKLCH.exec(value);
  if (oklch) return oklchColor(scaled(oklch[1], oklch[2]), Number(oklch[3]), Number(oklch[4]));
  const okhsl = OKHSL.exec(value);
  if (okhsl) return okhslColor(Number(okhsl[1]), scaled(okhsl[2], okhsl[3]), scaled(okhsl[4], okhsl[5]));
  throw new Error(`not a color: ${value}`);
}

const toLinear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const fromLinear = (value) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

function linearToOklab([r, g, b]) {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function oklabToLinear([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

const toOklab = ({ r, g, b }) => linearToOklab([r, g, b].map((part) => toLinear(part / 255)));
const toRgb = (linear) => linear.map((part) => 255 * Math.min(1, Math.max(0, fromLinear(Math.min(1, Math.max(0, part))))));
const isInGamut = (linear) => linear.every((part) => part >= -GAMUT_TOLERANCE && part <= 1 + GAMUT_TOLERANCE);

// Reduces the chroma of a color until the screen can show it.
function oklchToRgb({ l, c, h }) {
  const [cos, sin] = [Math.cos((h * Math.PI) / 180), Math.sin((h * Math.PI) / 180)];
  const at = (chroma) => oklabToLinear([l, chroma * cos, chroma * sin]);
  if (isInGamut(at(c))) return toRgb(at(c));
  let [low, high] = [0, c];
  for (let step = 0; step < 24; step += 1) {
    const middle = (low + high) / 2;
    if (isInGamut(at(middle))) low = middle;
    else high = middle;
  }
  return toRgb(at(low));
}

export const oklabToOkhslLightness = (l) => 0.5 * (K3 * l - K1 + Math.sqrt((K3 * l - K1) ** 2 + 4 * K2 * K3 * l));
const okhslToOklabLightness = (l) => (l * l + K1 * l) / (K3 * (l + K2));

// Returns the highest saturation of a hue in sRGB: where one of the channels becomes negative.
function highestSaturation(a, b) {
  const [k0, k1, k2, k3, k4, wl, wm, ws] =
    -1.88170328 * a - 0.80936493 * b > 1
      ? [1.19086277, 1.76576728, 0.59662641, 0.75515197, 0.56771245, 4.0767416621, -3.3077115913, 0.2309699292]
      : 1.81444104 * a - 1.19445276 * b > 1
        ? [0.73956515, -0.45954404, 0.08285427, 0.1254107, 0.14503204, -1.2684380046, 2.6097574011, -0.3413193965]
        : [1.35733652, -0.00915799, -1.1513021, -0.50559606, 0.00692167, -0.0041960863, -0.7034186147, 1.707614701];
  const estimate = k0 + k1 * a + k2 * b + k3 * a * a + k4 * a * b;
  const slopes = [0.3963377774 * a + 0.2158037573 * b, -0.1055613458 * a - 0.0638541728 * b, -0.0894841775 * a - 1.291485548 * b];
  const weights = [wl, wm, ws];
  const sum = (term) => slopes.reduce((total, slope, index) => total + weights[index] * term(slope, 1 + estimate * slope), 0);
  const [f, f1, f2] = [sum((_, root) => root ** 3), sum((slope, root) => 3 * slope * root ** 2), sum((slope, root) => 6 * slope ** 2 * root)];
  return estimate - (f * f1) / (f1 * f1 - 0.5 * f * f2);
}

// Returns lightness and chroma of the most colorful color of a hue.
function cusp(a, b) {
  const saturation = highestSaturation(a, b);
  const l = Math.cbrt(1 / Math.max(...oklabToLinear([1, saturation * a, saturation * b])));
  return [l, l * saturation];
}

// Returns the chroma at which a hue of this lightness leaves sRGB.
function highestChroma(a, b, l) {
  const at = (chroma) => oklabToLinear([l, chroma * a, chroma * b]);
  let [low, high] = [0, 0.5];
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (at(middle).every((part) => part >= 0 && part <= 1)) low = middle;
    else high = middle;
  }
  return low;
}

// Returns the chroma at saturation 0 (its slope), 0.8 and 1.
function chromaStops(a, b, l) {
  const highest = highestChroma(a, b, l);
  const [cuspL, cuspC] = cusp(a, b);
  const [sMax, tMax] = [cuspC / cuspL, cuspC / (1 - cuspL)];
  const scale = highest / Math.min(l * sMax, (1 - l) * tMax);
  const s = 0.11516993 + 1 / (7.4477897 + 4.1590124 * b + a * (-2.19557347 + 1.75198401 * b + a * (-2.13704948 - 10.02301043 * b + a * (-4.24894561 + 5.38770819 * b + 4.69891013 * a))));
  const t = 0.11239642 + 1 / (1.6132032 - 0.68124379 * b + a * (0.40370612 + 0.90148123 * b + a * (-0.27087943 + 0.6122399 * b + a * (0.00299215 - 0.45399568 * b - 0.14661872 * a))));
  const [low, high] = [l * s, (1 - l) * t];
  const middle = 0.9 * scale * Math.sqrt(Math.sqrt(1 / (1 / low ** 4 + 1 / high ** 4)));
  const first = Math.sqrt(1 / (1 / (l * 0.4) ** 2 + 1 / ((1 - l) * 0.8) ** 2));
  return [first, middle, highest];
}

function okhslToRgb(h, s, lightness) {
  if (lightness >= 1) return [255, 255, 255];
  if (lightness <= 0) return [0, 0, 0];
  const [a, b] = [Math.cos((h * Math.PI) / 180), Math.sin((h * Math.PI) / 180)];
  const l = okhslToOklabLightness(lightness);
  const [first, middle, highest] = chromaStops(a, b, l);
  let chroma;
  if (s < 0.8) {
    const t = 1.25 * s;
    const k1 = 0.8 * first;
    chroma = (t * k1) / (1 - (1 - k1 / middle) * t);
  } else {
    const t = (s - 0.8) / 0.2;
    const k1 = (0.2 * middle * middle * 1.25 * 1.25) / first;
    chroma = middle + (t * k1) / (1 - (1 - k1 / (highest - middle)) * t);
  }
  return toRgb(oklabToLinear([l, chroma * a, chroma * b]));
}

export function colorToOkhsl(color) {
  const [l, labA, labB] = toOklab(colorToRgb(color));
  const chroma = Math.hypot(labA, labB);
  const lightness = oklabToOkhslLightness(l);
  if (chroma < 1e-7 || l <= 0 || l >= 1) return { h: 0, s: 0, l: lightness };
  const [first, middle, highest] = chromaStops(labA / chroma, labB / chroma, l);
  let s;
  if (chroma < middle) {
    const k1 = 0.8 * first;
    s = (0.8 * chroma) / (k1 + (1 - k1 / middle) * chroma);
  } else {
    const k1 = (0.2 * middle * middle * 1.25 * 1.25) / first;
    const over = chroma - middle;
    s = 0.8 + (0.2 * over) / (k1 + (1 - k1 / (highest - middle)) * over);
  }
  return { h: turned((Math.atan2(labB, labA) * 180) / Math.PI), s: Math.min(1, s), l: lightness };
}

function paletteToRgb(index) {
  if (index < 16) return BASIC[index];
  if (index >= 232) return Array(3).fill(GRAYS[index - 232]);
  const cube = index - 16;
  return [CUBE[Math.floor(cube / 36)], CUBE[Math.floor(cube / 6) % 6], CUBE[cube % 6]];
}

export function colorToRgb(color) {
  if (color.kind === "rgb") return { r: color.r, g: color.g, b: color.b };
  const [r, g, b] = color.kind === "indexed" ? paletteToRgb(color.index) : oklchToRgb(color);
  return { r, g, b };
}

export function colorToOklch(color) {
  if (color.kind === "oklch") return { l: color.l, c: color.c, h: color.h };
  const [l, a, b] = toOklab(colorToRgb(color));
  return { l, c: Math.hypot(a, b), h: turned((Math.atan2(b, a) * 180) / Math.PI) };
}

export function colorToHex(color) {
  const { r, g, b } = colorToRgb(color);
  return `#${[r, g, b].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
}

// Mixes two colors; 0 is the first, 1 the second. Hues take the shorter way, and grays take the hue of the other color.
export function mixColors(first, second, amount, space = "oklch") {
  within("amount", amount, 0, 1);
  const between = (from, to) => from + (to - from) * amount;
  if (space === "srgb") {
    const [from, to] = [colorToRgb(first), colorToRgb(second)];
    return rgbColor(between(from.r, to.r), between(from.g, to.g), between(from.b, to.b));
  }
  const [from, to] = [colorToOklch(first), colorToOklch(second)];
  const start = from.c < 1e-7 ? to.h : from.h;
  const end = to.c < 1e-7 ? start : to.h;
  const turn = ((end - start + 540) % 360) - 180;
  return oklchColor(between(from.l, to.l), between(from.c, to.c), start + turn * amount);
}

function closest(values, target) {
  return values.reduce((best, value, index) => (Math.abs(value - target) < Math.abs(values[best] - target) ? index : best), 0);
}

const distance = (one, other) => 0.299 * (one[0] - other[0]) ** 2 + 0.587 * (one[1] - other[1]) ** 2 + 0.114 * (one[2] - other[2]) ** 2;

function toPalette({ r, g, b }) {
  const [red, green, blue] = [r, g, b].map((part) => closest(CUBE, part));
  const inCube = 16 + 36 * red + 6 * green + blue;
  const gray = closest(GRAYS, Math.round(0.299 * r + 0.587 * g + 0.114 * b));
  const isGray = Math.max(r, g, b) - Math.min(r, g, b) < 10;
  const isCloser = distance([r, g, b], Array(3).fill(GRAYS[gray])) < distance([r, g, b], [CUBE[red], CUBE[green], CUBE[blue]]);
  return isGray && isCloser ? 232 + gray : inCube;
}

function sequence(color, mode, layer) {
  if (color.kind === "indexed") return `\u001b[${layer};5;${color.index}m`;
  const rgb = colorToRgb(color);
  if (mode !== "truecolor") return `\u001b[${layer};5;${toPalette(rgb)}m`;
  return `\u001b[${layer};2;${Math.round(rgb.r)};${Math.round(rgb.g)};${Math.round(rgb.b)}m`;
}

export const foregroundAnsi = (color, mode) => sequence(color, mode, 38);
export const backgroundAnsi = (color, mode) => sequence(color, mode, 48);

export function getTerminalColorMode(capabilities = getCapabilities()) {
  return capabilities.trueColor ? "truecolor" : "256color";
}

// Wraps text in the sequences of a style; the inner ones end first.
export function styleTextWithAnsi(text, foreground, background, { bold, dim, italic, underline, inverse, strikethrough } = {}) {
  const weight = `${bold ? "\u001b[1m" : ""}${dim ? "\u001b[2m" : ""}`;
  const layers = [
    [foreground, 39], [background, 49], [weight, 22],
    [italic && "\u001b[3m", 23], [underline && "\u001b[4m", 24], [inverse && "\u001b[7m", 27], [strikethrough && "\u001b[9m", 29],
  ].filter(([open]) => open);
  return layers.map(([open]) => open).join("") + text + layers.map(([, end]) => `\u001b[${end}m`).reverse().join("");
}

export function styleText(text, options, mode) {
  const { fg, bg } = options;
  return styleTextWithAnsi(text, fg && foregroundAnsi(fg, mode), bg && backgroundAnsi(bg, mode), options);
}
