// Builds JSON schemas like TypeBox: plain objects with the same key order and hidden markers for the kind and for
// optional properties.
const OPTIONAL = Symbol.for("TypeBox.Optional");

// Adds a property that does not appear in JSON.
function mark(schema, key, value) {
  return Object.defineProperty(schema, key, { value, enumerable: false, configurable: true, writable: true });
}

function kind(name, schema) {
  return mark(schema, "~kind", name);
}

const isOptional = (schema) => schema?.[OPTIONAL] === true;

function plain(schema) {
  const copy = { ...schema };
  if (schema["~kind"]) kind(schema["~kind"], copy);
  return copy;
}

function object(properties, options) {
  const required = Object.keys(properties).filter((key) => !isOptional(properties[key]));
  const schema = { type: "object" };
  if (required.length > 0) schema.required = required;
  schema.properties = properties;
  return kind("Object", { ...schema, ...options });
}

function mapped(source, change) {
  const properties = {};
  for (const [key, value] of Object.entries(source.properties ?? {})) {
    const result = change(key, value);
    if (result) properties[key] = result;
  }
  const { type, required, properties: _, ...options } = source;
  return object(properties, options);
}

function optional(schema) {
  return mark(plain(schema), OPTIONAL, true);
}

function required(schema) {
  return plain(schema);
}

function keysOf(keys) {
  if (Array.isArray(keys)) return keys.map(String);
  return keys?.anyOf ? keys.anyOf.map((literal) => String(literal.const)) : [String(keys?.const ?? keys)];
}

function enumOf(values, options) {
  const list = Array.isArray(values) ? values : Object.entries(values).filter(([key]) => Number.isNaN(Number(key))).map(([, value]) => value);
  return kind("Enum", { enum: [...list], ...options });
}

const simple = (name, type) => (options) => kind(name, { type, ...options });

export const Type = {
  Any: (options) => kind("Any", { ...options }),
  Unknown: (options) => kind("Unknown", { ...options }),
  Never: (options) => kind("Never", { not: {}, ...options }),
  Null: simple("Null", "null"),
  Undefined: simple("Undefined", "undefined"),
  Void: simple("Void", "void"),
  Boolean: simple("Boolean", "boolean"),
  Number: simple("Number", "number"),
  Integer: simple("Integer", "integer"),
  String: simple("String", "string"),
  BigInt: simple("BigInt", "bigint"),
  Literal: (value, options) => kind("Literal", { type: typeof value, const: value, ...options }),
  Array: (items, options) => kind("Array", { type: "array", items, ...options }),
  Tuple: (items, options) => kind("Tuple", { type: "array", items, additionalItems: false, minItems: items.length, maxItems: items.length, ...options }),
  Object: (properties, options) => object(properties, options),
  Record: (key, value, options) =>
    kind("Record", { type: "object", patternProperties: { [key?.pattern ?? "^.*$"]: value }, ...options }),
  Union: (schemas, options) => kind("Union", { anyOf: schemas, ...options }),
  Intersect: (schemas, options) => kind("Intersect", { allOf: schemas, ...options }),
  Composite: (schemas, options) => object(Object.assign({}, ...schemas.map((schema) => schema.properties)), options),
  Enum: enumOf,
  Const: (value, options) => Type.Literal(value, options),
  Optional: optional,
  Required: (schema, options) => ({ ...mapped(schema, (_, value) => required(value)), ...options }),
  Readonly: (schema) => plain(schema),
  ReadonlyOptional: optional,
  Partial: (schema, options) => mapped({ ...schema, ...options }, (_, value) => optional(value)),
  Pick: (schema, keys, options) => mapped({ ...schema, ...options }, (key, value) => (keysOf(keys).includes(key) ? value : undefined)),
  Omit: (schema, keys, options) => mapped({ ...schema, ...options }, (key, value) => (keysOf(keys).includes(key) ? undefined : value)),
  KeyOf: (schema, options) => Type.Union(Object.keys(schema.properties ?? {}).map((key) => Type.Literal(key)), options),
  Index: (schema, key) => schema.properties?.[keysOf(key)[0]] ?? Type.Never(),
  Ref: (reference, options) => kind("Ref", { $ref: typeof reference === "string" ? reference : reference.$id, ...options }),
  Not: (schema, options) => kind("Not", { not: schema, ...options }),
  Unsafe: (schema) => kind("Unsafe", { ...schema }),
  TemplateLiteral: (pattern, options) => kind("TemplateLiteral", { type: "string", pattern: String(pattern), ...options }),
  Recursive: (build, options) => {
    const id = options?.$id ?? `T${++recursions}`;
    return { ...build({ $ref: id }), ...options, $id: id };
  },
  Date: (options) => kind("Date", { type: "Date", ...options }),
  RegExp: (pattern, options) => kind("String", { type: "string", pattern: pattern.source ?? String(pattern), ...options }),
};
Type.RegEx = Type.RegExp;

let recursions = 0;
