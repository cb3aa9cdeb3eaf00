// `@earendil-works/pi-ai/models`: functions about models, without providers.

export { calculateCost, clampThinkingLevel, getModelType, getSupportedThinkingLevels, hasApi, isModelType, modelsAreEqual } from "pi:modules/pi-ai";
