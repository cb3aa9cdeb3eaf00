// Validates values against the subset of JSON Schema that extensions use.
const typeTests = {
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  number: (value) => typeof value === "number" && Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === "string",
  array: Array.isArray,
  object: (value) => value !== null && typeof value === "object" && !Array.isArray(value),
  undefined: (value) => value === undefined,
};

const same = (left, right) => left === right || JSON.stringify(left) === JSON.stringify(right);

// Returns the validation errors of a value. An empty list means it is valid.
export function errorsOf(schema, value, path = "") {
  const errors = [];
  const fail = (message) => void errors.push({ path, instancePath: path, message, value });
  if (schema === true || schema === undefined) return errors;
  if (schema === false) fail("must not be present");
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => typeTests[type]?.(value) ?? true)) {
    fail(`must be ${types.join(" or ")}`);
    return errors;
  }
  if ("const" in schema && !same(schema.const, value)) fail(`must be ${JSON.stringify(schema.const)}`);
  if (schema.enum && !schema.enum.some((allowed) => same(allowed, value))) fail(`must be one of ${JSON.stringify(schema.enum)}`);
  if (schema.anyOf && !schema.anyOf.some((alternative) => errorsOf(alternative, value, path).length === 0)) fail("must match one of the alternatives");
  if (schema.oneOf && schema.oneOf.filter((alternative) => errorsOf(alternative, value, path).length === 0).length !== 1) fail("must match exactly one of the alternatives");
  for (const part of schema.allOf ?? []) errors.push(...errorsOf(part, value, path));
  if (schema.not && errorsOf(schema.not, value, path).length === 0) fail("must not match the excluded schema");
  if (typeof value === "number") checkNumber(schema, value, fail);
  if (typeof value === "string") checkText(schema, value, fail);
  if (Array.isArray(value)) errors.push(...arrayErrors(schema, value, path, fail));
  else if (typeTests.object(value)) errors.push(...objectErrors(schema, value, path, fail));
  return errors;
}

function checkNumber(schema, value, fail) {
  if (value < schema.minimum) fail(`must be at least ${schema.minimum}`);
  if (value > schema.maximum) fail(`must be at most ${schema.maximum}`);
  if (value <= schema.exclusiveMinimum) fail(`must be greater than ${schema.exclusiveMinimum}`);
  if (value >= schema.exclusiveMaximum) fail(`must be less than ${schema.exclusiveMaximum}`);
  if (schema.multipleOf && value % schema.multipleOf !== 0) fail(`must be a multiple of ${schema.multipleOf}`);
}

function checkText(schema, value, fail) {
  const length = [...value].length;
  if (length < schema.minLength) fail(`must have at least ${schema.minLength} characters`);
  if (length > schema.maxLength) fail(`must have at most ${schema.maxLength} characters`);
  if (schema.pattern && !new RegExp(schema.pattern, "u").test(value)) fail(`must match ${schema.pattern}`);
}

function arrayErrors(schema, value, path, fail) {
  if (value.length < schema.minItems) fail(`must have at least ${schema.minItems} items`);
  if (value.length > schema.maxItems) fail(`must have at most ${schema.maxItems} items`);
  if (!schema.items) return [];
  const schemaOf = (index) => (Array.isArray(schema.items) ? schema.items[index] : schema.items);
  return value.flatMap((item, index) => errorsOf(schemaOf(index), item, `${path}/${index}`));
}

function objectErrors(schema, value, path, fail) {
  for (const key of schema.required ?? []) if (!(key in value)) fail(`must have ${key}`);
  return Object.entries(value).flatMap(([key, item]) => {
    const at = `${path}/${key}`;
    if (schema.properties && Object.hasOwn(schema.properties, key)) {
      const known = schema.properties[key];
      return item === undefined && !(schema.required ?? []).includes(key) ? [] : errorsOf(known, item, at);
    }
    const pattern = Object.entries(schema.patternProperties ?? {}).find(([pattern]) => new RegExp(pattern, "u").test(key));
    if (pattern) return errorsOf(pattern[1], item, at);
    return schema.additionalProperties === undefined ? [] : errorsOf(schema.additionalProperties, item, at);
  });
}

// Returns whether a value is valid.
export function check(schema, value) {
  return errorsOf(schema, value).length === 0;
}

// Throws the first validation error of a value.
export function assertValid(schema, value) {
  const [error] = errorsOf(schema, value);
  if (error) throw new Error(`${error.path || "value"} ${error.message}`);
}

// Fills in the defaults of a schema and validates the result.
export function parse(schema, value) {
  const filled = withDefaults(schema, value);
  assertValid(schema, filled);
  return filled;
}

// Fills in the defaults of a schema.
export function withDefaults(schema, value) {
  if (value === undefined) value = structuredClone(schema?.default);
  if (schema?.properties && typeTests.object(value)) {
    for (const [key, known] of Object.entries(schema.properties)) {
      const filled = withDefaults(known, value[key]);
      if (filled !== undefined) value[key] = filled;
    }
  }
  return value;
}
