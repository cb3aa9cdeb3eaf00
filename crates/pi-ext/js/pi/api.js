// The `pi` object of one extension.
import { call, request } from "pi:host";
import { requireModule } from "pi:native";
import { createEventBus } from "pi:pi/event_bus";
import { describeCommand, describeProvider, describeTool, tellSubscriptions } from "pi:pi/registry";

const bus = createEventBus();

function requireText(value, what) {
  if (typeof value !== "string" || value === "") throw new TypeError(`${what} must be a text that is not empty`);
}

// Makes the object an extension's factory is given.
export function createApi(extension) {
  return {
    on(event, handler) {
      requireText(event, "the name of an event");
      if (typeof handler !== "function") throw new TypeError(`the handler of ${event} must be a function`);
      const handlers = extension.handlers.get(event) ?? [];
      // Another list each time: a dispatch goes on with the one it began with.
      extension.handlers.set(event, [...handlers, handler]);
      tellSubscriptions(extension);
      return () => {
        const current = extension.handlers.get(event) ?? [];
        const position = current.indexOf(handler);
        if (position < 0) return;
        extension.handlers.set(event, current.filter((_, index) => index !== position));
        tellSubscriptions(extension);
      };
    },

    registerTool(tool) {
      requireText(tool?.name, "the name of a tool");
      if (typeof tool.execute !== "function") throw new TypeError(`the tool ${tool.name} has no execute function`);
      if (tool.parameters?.type !== "object") {
        throw new TypeError(`the parameters of the tool ${tool.name} must be the schema of an object`);
      }
      extension.tools.set(tool.name, tool);
      if (extension.isBound) call("tool.register", { extension: extension.path, tool: describeTool(tool) });
    },
    registerCommand(name, command) {
      requireText(name, "the name of a command");
      extension.commands.set(name, command);
      if (extension.isBound) call("command.register", { extension: extension.path, command: describeCommand(name, command) });
    },
    registerShortcut(key, shortcut) {
      requireText(key, "the key of a shortcut");
      extension.shortcuts.set(key, shortcut);
      if (extension.isBound) call("shortcut.register", { extension: extension.path, shortcut: { key, description: shortcut.description } });
    },
    registerFlag(name, flag) {
      requireText(name, "the name of a flag");
      extension.flags.set(name, { ...flag, value: flag.default });
    },
    getFlag(name) {
      return extension.flags.get(name)?.value;
    },
    registerMessageRenderer(customType, renderer) {
      extension.messageRenderers.set(customType, renderer);
      if (extension.isBound) call("renderer.register", { kind: "message", type: customType });
    },
    registerEntryRenderer(customType, renderer) {
      extension.entryRenderers.set(customType, renderer);
      if (extension.isBound) call("renderer.register", { kind: "entry", type: customType });
    },
    registerMarkdownTransformer(transformer) {
      extension.markdownTransformer = transformer;
      if (extension.isBound) call("renderer.register", { kind: "markdown", type: "" });
    },
    registerProvider(nameOrProvider, config) {
      const [name, settings] = typeof nameOrProvider === "string" ? [nameOrProvider, config ?? {}] : [nameOrProvider.id, nameOrProvider];
      requireText(name, "the name of a provider");
      extension.providers = [...extension.providers.filter((known) => known.name !== name), { name, config: settings }];
      if (extension.isBound) call("provider.register", { extension: extension.path, provider: describeProvider(name, settings) });
    },
    unregisterProvider(name) {
      extension.providers = extension.providers.filter((known) => known.name !== name);
      if (extension.isBound) call("provider.unregister", { name });
    },

    sendMessage(message, options) {
      call("message.send", { message, options: options ?? {} });
    },
    sendUserMessage(content, options) {
      call("message.sendUser", { content, options: options ?? {} });
    },
    appendEntry(customType, data) {
      call("entry.append", { customType, data });
    },
    setSessionName(name) {
      call("session.setName", { name });
    },
    getSessionName() {
      return call("session.name") ?? undefined;
    },
    setLabel(entryId, label) {
      call("entry.label", { entryId, label });
    },
    exec(command, args, options) {
      // Loaded when it is first used: processes need half of Node.
      return requireModule("pi:pi/exec").exec(command, args, { ...options, cwd: options?.cwd ?? call("context").cwd });
    },
    getActiveTools() {
      return call("tools.active");
    },
    getAllTools() {
      return call("tools.all");
    },
    setActiveTools(names) {
      call("tools.setActive", { names: [...names] });
    },
    getCommands() {
      return call("commands");
    },
    setModel(model) {
      return request("model.set", { provider: model.provider, id: model.id });
    },
    getThinkingLevel() {
      return call("thinking.level");
    },
    setThinkingLevel(level) {
      call("thinking.set", { level });
    },
    events: bus,
  };
}
