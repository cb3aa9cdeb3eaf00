// Finds models by what users write: `provider/id`, an ID, or a part of an ID or name, with an optional thinking level.
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
const same = (left, right) => left.toLowerCase() === right.toLowerCase();

// Splits `id:level`; the level is undefined if it is not one.
function splitLevel(text) {
  const colon = text.lastIndexOf(":");
  if (colon < 0) return undefined;
  const suffix = text.slice(colon + 1);
  return { prefix: text.slice(0, colon), suffix, level: LEVELS.includes(suffix) ? suffix : undefined };
}

// Prefers IDs without a date, then the last one by name.
function best(models) {
  const isAlias = ({ id }) => id.endsWith("-latest") || !/-\d{8}$/.test(id);
  const aliases = models.filter(isAlias);
  return [...(aliases.length > 0 ? aliases : models)].sort((left, right) => right.id.localeCompare(left.id))[0];
}

function containing(text, models) {
  const part = text.toLowerCase();
  return models.filter(({ id, name }) => id.toLowerCase().includes(part) || name?.toLowerCase().includes(part));
}

// Splits a text at the longest provider ID that it starts with.
function splitProvider(text, models) {
  const providers = [...new Set(models.map(({ provider }) => provider))].sort((left, right) => right.length - left.length);
  const provider = providers.find((id) => text.length > id.length + 1 && same(text.slice(0, id.length + 1), `${id}/`));
  return provider && { provider, rest: text.slice(provider.length + 1).trim() };
}

function choose(candidates, usable) {
  if (new Set(candidates.map(({ provider }) => provider)).size === 1) return { status: "resolved", model: candidates[0] };
  const ready = candidates.filter(({ provider }) => usable(provider));
  if (new Set(ready.map(({ provider }) => provider)).size === 1) return { status: "resolved", model: best(ready) };
  return { status: "ambiguous", candidates, usableCount: ready.length };
}

function match(text, fuzzy, models, usable) {
  const named = splitProvider(text, models);
  if (named) {
    const own = models.filter(({ provider }) => provider === named.provider);
    const exact = own.find(({ id }) => same(id, named.rest)) ?? own.find(({ id }) => same(id, text));
    const found = exact ?? (fuzzy ? best(containing(named.rest, own)) : undefined);
    if (found) return { status: "resolved", model: found };
  }
  const exact = models.filter(({ id }) => same(id, text));
  if (exact.length > 0) return choose(exact, usable);
  const partial = fuzzy ? containing(text, models) : [];
  if (partial.length === 0) return undefined;
  const chosen = choose(partial, usable);
  return chosen.status === "resolved" ? { ...chosen, model: best(partial.filter(({ provider }) => provider === chosen.model.provider)) } : chosen;
}

function resolveText(text, { thinkingSuffix, fuzzy }, models, usable) {
  const found = match(text, fuzzy, models, usable);
  if (found) return found;
  const split = thinkingSuffix === "none" ? undefined : splitLevel(text);
  if (!split || (thinkingSuffix === "strict" && !split.level)) return undefined;
  const inner = resolveText(split.prefix, { thinkingSuffix, fuzzy }, models, usable);
  if (!inner) return undefined;
  if (split.level) return inner.warning ? inner : { ...inner, thinkingLevel: split.level };
  return { ...inner, thinkingLevel: undefined, warning: `Invalid thinking level "${split.suffix}" in pattern "${text}". Using default instead.` };
}

export function resolveModelReference(request, models, usable) {
  const text = request.text.trim();
  const considered = request.provider ? models.filter(({ provider }) => provider === request.provider) : models;
  const found = text === "" ? undefined : resolveText(text, request, considered, usable);
  if (found) return found;
  const named = request.provider ? { provider: request.provider, rest: splitProvider(text, considered)?.rest ?? text } : splitProvider(text, models);
  if (!named || text === "") return { status: "not-found" };
  const split = request.thinkingSuffix === "none" ? undefined : splitLevel(named.rest);
  const target = {
    provider: named.provider,
    providerModels: models.filter(({ provider }) => provider === named.provider),
    modelText: named.rest,
    modelId: split?.level ? split.prefix : named.rest,
    thinkingLevel: split?.level,
  };
  return { status: "not-found", target };
}

const failed = (error) => ({ model: undefined, warning: undefined, error });

// Resolves the model of `--provider` and `--model`.
export function resolveCliModel({ cliProvider, cliModel, cliThinking, inlineApiKey, modelRuntime }) {
  if (!cliModel) return failed(undefined);
  const models = [...(modelRuntime.getModels ?? modelRuntime.getAll).call(modelRuntime)];
  if (models.length === 0) return failed("No models available. Check your installation or add models to models.json.");
  const provider = cliProvider && models.find((model) => same(model.provider, cliProvider))?.provider;
  if (cliProvider && !provider) return failed(`Unknown provider "${cliProvider}". Use --list-models to see available providers/models.`);
  const usable = (id) => !inlineApiKey && modelRuntime.getProviderAuthStatus(id).configured;
  const found = resolveModelReference({ text: cliModel, provider, thinkingSuffix: "strict", fuzzy: true }, models, usable);
  if (found.status === "resolved") return { model: found.model, thinkingLevel: found.thinkingLevel, warning: found.warning, error: undefined };
  if (found.status === "ambiguous") {
    const names = found.candidates.map((model) => `${model.provider}/${model.id}`).sort((left, right) => left.localeCompare(right));
    return failed(`Model "${cliModel}" is ambiguous across providers: ${names.join(", ")}. Use --provider or provider/model.`);
  }
  const { target } = found;
  if (!target) return failed(`Model "${cliModel}" not found. Use --list-models to see available models.`);
  const id = cliThinking ? target.modelText : target.modelId;
  const thinkingLevel = cliThinking ? undefined : target.thinkingLevel;
  const model = { ...target.providerModels[0], id, name: id };
  const level = cliThinking ?? thinkingLevel;
  return {
    model: level && level !== "off" ? { ...model, reasoning: true } : model,
    thinkingLevel,
    warning: `Model "${id}" not found for provider "${target.provider}". Using custom model id.`,
    error: undefined,
  };
}

// Resolves the patterns of `--models` among models with credentials.
export async function resolveModelScopeWithDiagnostics(patterns, modelRuntime) {
  const models = [...(await modelRuntime.getAvailable())];
  const scopedModels = [];
  const diagnostics = [];
  const add = (model, thinkingLevel) => {
    if (!scopedModels.some((known) => known.model.provider === model.provider && known.model.id === model.id)) scopedModels.push({ model, thinkingLevel });
  };
  for (const pattern of patterns) {
    const warn = (code, message) => diagnostics.push({ type: "warning", code, message, pattern });
    if (/[*?[]/.test(pattern)) {
      const split = splitLevel(pattern);
      const glob = split?.level ? split.prefix : pattern;
      const expression = new RegExp(`^${glob.replace(/[.+^${}()|\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".")}$`, "i");
      const matching = models.filter((model) => expression.test(`${model.provider}/${model.id}`) || expression.test(model.id));
      if (matching.length === 0) warn("no-match", `No models match pattern "${pattern}"`);
      for (const model of matching) add(model, split?.level);
      continue;
    }
    const found = resolveModelReference({ text: pattern, thinkingSuffix: "lenient", fuzzy: true }, models, () => true);
    if (found.warning) warn("invalid-thinking-level", found.warning);
    if (found.status === "resolved") add(found.model, found.thinkingLevel);
    else if (found.status === "ambiguous") {
      warn("ambiguous", `Pattern "${pattern}" matches models of several providers`);
      for (const model of found.candidates) add(model, found.thinkingLevel);
    } else warn("no-match", `No models match pattern "${pattern}"`);
  }
  return { scopedModels, diagnostics };
}
export async function resolveModelScope(patterns, modelRuntime) {
  return (await resolveModelScopeWithDiagnostics(patterns, modelRuntime)).scopedModels;
}
export function findExactModelReferenceMatch(reference, models) {
  const found = resolveModelReference({ text: reference, thinkingSuffix: "none", fuzzy: false }, models, () => true);
  return found.status === "resolved" ? found.model : undefined;
}
