// The subset of Intl that extensions use, in English: numbers, dates, lists, collation, segmentation.
import { callSync } from "pi:operations";

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const pad = (value, length = 2) => String(value).padStart(length, "0");

function group(digits) {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

const CURRENCIES = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", CNY: "CN¥", INR: "₹", KRW: "₩" };
const COMPACT = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]];

export function formatNumber(value, locale, options = {}) {
  if (typeof value === "bigint") return options.useGrouping === false ? String(value) : group(String(value));
  let number = Number(value);
  if (Number.isNaN(number)) return "NaN";
  let suffix = "";
  let least = options.minimumFractionDigits;
  let most = options.maximumFractionDigits;
  if (options.style === "percent") {
    number *= 100;
    suffix = "%";
    least ??= 0;
    most ??= Math.max(least, 0);
  }
  if (options.style === "currency") {
    const digits = options.currency === "JPY" || options.currency === "KRW" ? 0 : 2;
    least ??= Math.min(digits, most ?? digits);
    most ??= Math.max(digits, least);
  }
  if (options.notation === "compact") {
    const step = COMPACT.find(([limit]) => Math.abs(number) >= limit);
    if (step) {
      number /= step[0];
      suffix = step[1];
    }
    most ??= Math.abs(number) < 100 && !Number.isInteger(number) ? (Math.abs(number) < 10 ? 1 : 0) : 0;
    if (most === 0 && Math.abs(number) < 10 && !Number.isInteger(number)) most = 1;
  }
  least ??= 0;
  most ??= Math.max(least, 3);
  if (!Number.isFinite(number)) return `${number < 0 ? "-" : ""}∞${suffix}`;
  let text;
  if (options.maximumSignificantDigits !== undefined) {
    text = String(Number(Math.abs(number).toPrecision(options.maximumSignificantDigits)));
  } else {
    const size = Math.abs(number);
    // Beyond this, toFixed returns an exponent.
    text = size < 1e21 ? size.toFixed(Math.min(most, 20)) : String(BigInt(size));
    if (most > least && text.includes(".")) {
      let end = text.length;
      const shortest = text.indexOf(".") + 1 + least;
      while (end > shortest && text[end - 1] === "0") end--;
      text = text.slice(0, end).replace(/\.$/, "");
    }
  }
  let [integer, fraction] = text.split(".");
  integer = integer.padStart(options.minimumIntegerDigits ?? 1, "0");
  if (options.useGrouping !== false && options.notation !== "compact") integer = group(integer);
  const unit = options.style === "unit" && options.unit ? ` ${options.unit}` : "";
  const currency = options.style === "currency" ? (CURRENCIES[options.currency] ?? `${options.currency} `) : "";
  const negative = (number < 0 || Object.is(number, -0)) && /[1-9]/.test(text);
  const sign = negative ? "-" : options.signDisplay === "always" || (options.signDisplay === "exceptZero" && number > 0) ? "+" : "";
  return sign + currency + integer + (fraction ? `.${fraction}` : "") + suffix + unit;
}

// Shifts a date so that its UTC fields show the local time of a zone.
function inZone(date, zone) {
  if (zone === "UTC" || zone === "GMT" || zone === "Etc/UTC") return date;
  const minutes = zone === undefined ? -date.getTimezoneOffset() : callSync("os", "zoneOffset", { zone: String(zone), time: date.getTime() });
  return new Date(date.getTime() + minutes * 60000);
}

// Marks the fields of a date for `formatToParts`.
const BEGIN = "\uE000";
const MIDDLE = "\uE001";
const END = "\uE002";
function field(options, type, text) {
  return options.marked ? `${BEGIN}${type}${MIDDLE}${text}${END}` : text;
}

function markedParts(text) {
  return text.split(BEGIN).flatMap((piece, index) => {
    if (index === 0) return piece ? [{ type: "literal", value: piece }] : [];
    const [type, rest] = piece.split(MIDDLE);
    const [value, literal] = rest.split(END);
    return literal ? [{ type, value }, { type: "literal", value: literal }] : [{ type, value }];
  });
}

function timeText(shown, options, defaults) {
  const { hour, minute, second } = defaults ? { hour: "numeric", minute: "2-digit", second: "2-digit" } : options;
  if (!hour && !minute && !second) return "";
  const is24 = options.hour12 === false || options.hourCycle === "h23" || options.hourCycle === "h24";
  const hours = shown.getUTCHours();
  const value = is24 ? hours : hours % 12 || 12;
  const parts = [];
  const add = (type, value, isPadded) => parts.push(field(options, type, isPadded ? pad(value) : String(value)));
  if (hour) add("hour", value, is24 || hour === "2-digit");
  if (minute) add("minute", shown.getUTCMinutes(), parts.length > 0 || minute === "2-digit");
  if (second) add("second", shown.getUTCSeconds(), parts.length > 0 || second === "2-digit");
  let text = parts.join(":");
  if (options.fractionalSecondDigits) text += `.${field(options, "fractionalSecond", pad(shown.getUTCMilliseconds(), 3).slice(0, options.fractionalSecondDigits))}`;
  return hour && !is24 ? `${text} ${field(options, "dayPeriod", hours < 12 ? "AM" : "PM")}` : text;
}

// Locales that write the day first.
const SEPARATORS = { "en-GB": "/", "fr-FR": "/", "es-ES": "/", "it-IT": "/", "de-DE": "." };

function dateText(shown, options, defaults, locale) {
  const separator = SEPARATORS[locale];
  const isPadded = separator === "/" && locale !== "es-ES" && locale !== "it-IT";
  const plain = { year: "numeric", month: isPadded ? "2-digit" : "numeric", day: isPadded ? "2-digit" : "numeric" };
  const { weekday, year, month, day } = defaults ? plain : options;
  const y = field(options, "year", year === "2-digit" ? pad(shown.getUTCFullYear() % 100) : String(shown.getUTCFullYear()));
  const d = field(options, "day", day === "2-digit" ? pad(shown.getUTCDate()) : String(shown.getUTCDate()));
  const name = DAYS[shown.getUTCDay()];
  const dayName = weekday ? field(options, "weekday", weekday === "long" ? name : weekday === "narrow" ? name[0] : name.slice(0, 3)) : "";
  if (month === "long" || month === "short") {
    const full = MONTHS[shown.getUTCMonth()];
    const monthName = field(options, "month", month === "long" ? full : full.slice(0, 3));
    const date = [monthName, day ? d : ""].filter(Boolean).join(" ");
    return [dayName, date, year ? y : ""].filter(Boolean).join(day || dayName ? ", " : " ");
  }
  const m = field(options, "month", month === "2-digit" ? pad(shown.getUTCMonth() + 1) : String(shown.getUTCMonth() + 1));
  const fields = separator ? [day ? d : "", month ? m : "", year ? y : ""] : [month ? m : "", day ? d : "", year ? y : ""];
  return [dayName, fields.filter(Boolean).join(separator ?? "/")].filter(Boolean).join(", ");
}

const STYLES = {
  date: { full: { weekday: "long", year: "numeric", month: "long", day: "numeric" }, long: { year: "numeric", month: "long", day: "numeric" }, medium: { year: "numeric", month: "short", day: "numeric" }, short: { year: "2-digit", month: "numeric", day: "numeric" } },
  time: { full: { hour: "numeric", minute: "2-digit", second: "2-digit" }, long: { hour: "numeric", minute: "2-digit", second: "2-digit" }, medium: { hour: "numeric", minute: "2-digit", second: "2-digit" }, short: { hour: "numeric", minute: "2-digit" } },
};

export function formatDate(value, kind, locale, dateOptions = {}) {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return "Invalid Date";
  let options = { ...dateOptions };
  if (options.dateStyle) options = { ...options, ...STYLES.date[options.dateStyle] };
  if (options.timeStyle) options = { ...options, ...STYLES.time[options.timeStyle] };
  const shown = inZone(date, options.timeZone);
  const hasDateFields = Boolean(options.weekday || options.year || options.month || options.day);
  const hasTimeFields = Boolean(options.hour || options.minute || options.second || options.fractionalSecondDigits);
  const none = !hasDateFields && !hasTimeFields;
  const first = Array.isArray(locale) ? locale[0] : locale;
  if (first === "sv-SE" || first === "en-CA") {
    const iso = `${shown.getUTCFullYear()}-${pad(shown.getUTCMonth() + 1)}-${pad(shown.getUTCDate())}`;
    if (kind === "date" && (none || hasDateFields)) return iso;
    if (kind === "any" && none && first === "sv-SE") return `${iso} ${timeText(shown, { hour12: false }, true)}`;
  }
  if (["en-GB", "de-DE", "sv-SE", "fr-FR"].includes(first) && options.hour12 === undefined) options.hour12 = false;
  const dates = hasDateFields || none || (kind === "date" && !hasDateFields) ? kind !== "time" || hasDateFields : false;
  const times = hasTimeFields || (none && kind !== "date") || (kind === "time" && !hasTimeFields);
  const parts = [];
  if (dates) parts.push(dateText(shown, options, !hasDateFields, first));
  if (times) parts.push(timeText(shown, options, !hasTimeFields));
  const zone = options.timeZoneName ? ` ${options.timeZone ?? "UTC"}` : "";
  return parts.filter(Boolean).join(", ") + zone;
}

// Compares like a collator: case-insensitive first, accents after plain letters.
export function compare(left, right, locale, options = {}) {
  const a = String(left);
  const b = String(right);
  // Punctuation sorts before digits, digits before letters.
  const byMark = Number(startsWithMark(b)) - Number(startsWithMark(a));
  if (byMark !== 0 && a !== "" && b !== "") return byMark;
  if (options.numeric) {
    const split = (text) => text.split(/(\d+)/);
    const x = split(a);
    const y = split(b);
    for (let index = 0; index < Math.min(x.length, y.length); index++) {
      const result = index % 2 === 1 ? Math.sign(Number(x[index]) - Number(y[index])) : compareText(x[index], y[index], options);
      if (result !== 0) return result;
    }
    return Math.sign(x.length - y.length);
  }
  return compareText(a, b, options);
}

const base = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const rank = (text) => text.replace(/[\p{P}\p{S}\s]/gu, (mark) => `\u0001${mark}`);
const startsWithMark = (text) => /^[\p{P}\p{S}\s]/u.test(text);

function compareText(a, b, options) {
  if (a === b) return 0;
  const byBase = order(rank(base(a)), rank(base(b)));
  if (byBase !== 0 || options.sensitivity === "base") return byBase;
  const byAccent = order(a.normalize("NFD").toLowerCase(), b.normalize("NFD").toLowerCase());
  if (byAccent !== 0 || options.sensitivity === "accent") return byAccent;
  // Lower case comes first.
  return -order(a, b);
}

const EXTEND = /[\p{M}\p{Emoji_Modifier}\u200d\ufe0e\ufe0f\u20e3\u{e0020}-\u{e007f}]/u;
const REGIONAL = /\p{Regional_Indicator}/u;

// Splits text into grapheme clusters.
export function* graphemes(text) {
  let cluster = "";
  let start = 0;
  let offset = 0;
  let flags = 0;
  let previous = "";
  for (const character of text) {
    const isFlag = REGIONAL.test(character);
    const joins =
      cluster !== "" &&
      ((previous === "\r" && character === "\n") ||
        (EXTEND.test(character) && previous !== "\n" && previous !== "\r") ||
        (previous === "\u200d" && /\p{Extended_Pictographic}/u.test(character)) ||
        (isFlag && flags % 2 === 1));
    if (!joins && cluster !== "") {
      yield { segment: cluster, index: start, input: text };
      cluster = "";
      start = offset;
      flags = 0;
    }
    flags = isFlag ? flags + 1 : 0;
    cluster += character;
    previous = character;
    offset += character.length;
  }
  if (cluster !== "") yield { segment: cluster, index: start, input: text };
}

function* pieces(text, pattern, extra) {
  for (const match of text.matchAll(pattern)) yield { segment: match[0], index: match.index, input: text, ...extra(match[0]) };
}

class Segmenter {
  #granularity;
  constructor(locale, options = {}) {
    this.#granularity = options.granularity ?? "grapheme";
  }
  segment(text) {
    const input = String(text);
    const granularity = this.#granularity;
    const iterate = () =>
      granularity === "grapheme"
        ? graphemes(input)
        : granularity === "word"
          ? pieces(input, /[\p{L}\p{N}\p{M}_]+(?:['’.][\p{L}\p{N}]+)*|\s+|[^\s]/gu, (segment) => ({ isWordLike: /[\p{L}\p{N}]/u.test(segment) }))
          : pieces(input, /[^.!?]+[.!?]*\s*|[.!?]+\s*/gu, () => ({}));
    return {
      [Symbol.iterator]: iterate,
      containing: (index = 0) => [...iterate()].find((piece) => index >= piece.index && index < piece.index + piece.segment.length),
    };
  }
  resolvedOptions() {
    return { locale: "en-US", granularity: this.#granularity };
  }
}

function service(name, extra, format) {
  const type = {
    [name]: class {
      constructor(locale, options = {}) {
        this.locale = locale;
        this.options = options;
        if (format) this.format = (...values) => format(this, ...values);
      }
      static supportedLocalesOf(locales) {
        return [locales].flat();
      }
      resolvedOptions() {
        return { locale: "en-US", timeZone: this.options.timeZone ?? callSync("os", "zone"), calendar: "gregory", numberingSystem: "latn", ...this.options };
      }
      formatToParts(...values) {
        return [{ type: "literal", value: this.format(...values) }];
      }
    },
  }[name];
  Object.assign(type.prototype, extra);
  // Callable without `new`, like the legacy constructors.
  return new Proxy(type, { apply: (target, self, args) => new target(...args) });
}

function kindOf(options) {
  return options.timeStyle || options.hour || options.minute || options.second ? "any" : "date";
}

// Supported units, with the words for the previous, current and next one.
const NEAREST = { day: ["yesterday", "today", "tomorrow"], hour: [undefined, "this hour"], minute: [undefined, "this minute"], second: [undefined, "now"] };
for (const unit of ["week", "month", "quarter", "year"]) NEAREST[unit] = [`last ${unit}`, `this ${unit}`, `next ${unit}`];

const Collator = service("Collator", {});
export const Intl = {
  NumberFormat: service("NumberFormat", {}, (self, value) => formatNumber(value, self.locale, self.options)),
  DateTimeFormat: service(
    "DateTimeFormat",
    {
      formatToParts(value = Date.now()) {
        return markedParts(formatDate(value, kindOf(this.options), this.locale, { ...this.options, marked: true }));
      },
    },
    (self, value = Date.now()) => formatDate(value, kindOf(self.options), self.locale, self.options),
  ),
  Collator: new Proxy(Collator, {
    construct(target, args) {
      const collator = new target(...args);
      collator.compare = (a, b) => compare(a, b, collator.locale, collator.options);
      return collator;
    },
    apply: (target, self, args) => new Intl.Collator(...args),
  }),
  ListFormat: service("ListFormat", {}, (self, list) => {
    const items = [...list];
    if (self.options.type === "unit") return items.join(self.options.style === "narrow" ? " " : ", ");
    const word = self.options.type === "disjunction" ? "or" : "and";
    if (items.length < 2) return items.join("");
    return items.length === 2 ? items.join(` ${word} `) : `${items.slice(0, -1).join(", ")}, ${word} ${items.at(-1)}`;
  }),
  PluralRules: service("PluralRules", {
    select(value) {
      if (this.options.type !== "ordinal") return value === 1 ? "one" : "other";
      const tens = value % 100;
      const ones = value % 10;
      return ones === 1 && tens !== 11 ? "one" : ones === 2 && tens !== 12 ? "two" : ones === 3 && tens !== 13 ? "few" : "other";
    },
  }),
  RelativeTimeFormat: service("RelativeTimeFormat", {}, (self, value, unit) => {
    const name = String(unit).replace(/s$/, "");
    if (!Object.hasOwn(NEAREST, name)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
    const nearest = self.options.numeric === "auto" ? NEAREST[name][value + 1] : undefined;
    if (nearest) return nearest;
    const amount = Math.abs(value);
    const text = `${formatNumber(amount)} ${name}${amount === 1 ? "" : "s"}`;
    return value < 0 || Object.is(value, -0) ? `${text} ago` : `in ${text}`;
  }),
  DisplayNames: service("DisplayNames", { of: (code) => code }),
  Locale: class Locale {
    constructor(tag) {
      this.baseName = String(tag);
      [this.language] = this.baseName.split("-");
    }
    toString() {
      return this.baseName;
    }
  },
  Segmenter,
  getCanonicalLocales: (locales) => (locales === undefined ? [] : [locales].flat()),
  supportedValuesOf: () => [],
};
