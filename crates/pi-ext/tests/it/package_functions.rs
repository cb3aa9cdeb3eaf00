//! What functions of pi's packages return to an extension.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::api::ManagerEnv;

/// Loads an extension and returns the result of its function `run`.
async fn run(source: &str) -> Value {
    let env = ManagerEnv::new();
    let default = "\nexport default (pi) => pi.on('input', async () => ({ action: 'transform', text: JSON.stringify(await run()) }));";
    env.load("main.ts", &format!("{source}{default}"))
        .await
        .unwrap();
    let result = env.emit(json!({"type": "input", "text": ""})).await;
    serde_json::from_str(result["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn colors_are_parsed_converted_and_applied() {
    let source = r##"
import { backgroundAnsi, colorToHex, colorToOkhsl, colorToOklch, foregroundAnsi, formatProgramStatus, indexedColor, mixColors, okhslColor,
  oklchColor, parseColor, replaceControlCharacters, rgbColor, styleText } from "@earendil-works/pi-tui";
const fails = (make) => { try { make(); return false; } catch { return true; } };
export const run = () => {
  const hex = ["#ff0000", "#00ff80", "#102030", "#8899aa", "#ffffff", "#000000", "#777777"];
  const round = hex.map((value) => { const { h, s, l } = colorToOkhsl(parseColor(value)); return colorToHex(okhslColor(h, s, l)); });
  const red = colorToOklch(parseColor("#f00"));
  return {
    round: round.every((value, index) => value === hex[index]) || round,
    again: colorToHex(oklchColor(red.l, red.c, red.h)),
    vivid: colorToHex(parseColor("oklch(62.8% 0.9 29.23deg)")),
    palette: [colorToHex(indexedColor(196)), colorToHex(indexedColor(244))],
    mixed: [colorToHex(mixColors(rgbColor(0, 0, 0), rgbColor(255, 255, 255), 0.5, "srgb")), mixColors(parseColor("#f00"), parseColor("#fff"), 0).h.toFixed(1)],
    ansi: [foregroundAnsi(rgbColor(1, 2, 3), "truecolor"), backgroundAnsi(rgbColor(128, 128, 128), "256color"), foregroundAnsi(indexedColor(7), "truecolor")],
    styled: styleText("x", { fg: indexedColor(1), bold: true, underline: true }, "256color"),
    status: formatProgramStatus({ state: "blocked", app: "pi", kind: "question", message: "a\nb" }),
    clean: replaceControlCharacters("a\u0007\u001bb"),
    invalid: [() => parseColor("red"), () => indexedColor(256), () => rgbColor(0, 0, 300), () => mixColors(rgbColor(0, 0, 0), rgbColor(0, 0, 0), 2)].map(fails),
  };
};"##;
    let value = run(source).await;
    assert_eq!(
        value,
        json!({
            "round": true,
            "again": "#ff0000",
            "vivid": value["vivid"],
            "palette": ["#ff0000", "#808080"],
            "mixed": ["#808080", "29.2"],
            "ansi": ["\u{1b}[38;2;1;2;3m", "\u{1b}[48;5;244m", "\u{1b}[38;5;7m"],
            "styled": "\u{1b}[38;5;1m\u{1b}[1m\u{1b}[4mx\u{1b}[24m\u{1b}[22m\u{1b}[39m",
            "status": "\u{1b}]7501;state=blocked:app=pi:kind=question:msg=YSBi\u{1b}\\",
            "clean": "a b",
            "invalid": [true, true, true, true],
        })
    );
    // A color that the screen cannot show is as colorful as possible.
    let vivid = value["vivid"].as_str().unwrap();
    assert!(vivid.starts_with("#f"), "{vivid}");
}

#[tokio::test]
async fn a_tool_call_runs_outside_of_a_loop() {
    let source = r#"
import { DEFAULT_AGENT_IDENTITY, runToolCall } from "@earendil-works/pi-agent-core";
const parameters = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const echo = { name: "echo", parameters, execute: async (id, args, signal, onUpdate) => { onUpdate({ content: [] }); return { content: [{ type: "text", text: args.text }], details: {} }; } };
const call = (name, args) => ({ type: "toolCall", id: "c1", name, arguments: args });
export const run = async () => {
  const updates = [];
  const options = { tools: [echo], context: { messages: [] }, onUpdate: (update) => updates.push(update) };
  const done = await runToolCall(call("echo", { text: "hi" }), options);
  const invalid = await runToolCall(call("echo", {}), options);
  const blocked = await runToolCall(call("echo", { text: "hi" }), { ...options, beforeToolCall: () => ({ block: true, reason: "no" }) });
  return [done.result.content[0].text, done.isError, typeof done.durationMs, updates.length, invalid.isError, "durationMs" in invalid, blocked.result.content[0].text, DEFAULT_AGENT_IDENTITY.attribution.name];
};"#;
    let value = run(source).await;
    assert_eq!(
        value,
        json!(["hi", false, "number", 1, true, false, "no", "pi"])
    );
}

#[tokio::test]
async fn a_theme_has_styles_colors_and_an_appearance() {
    let source = r##"
import { Theme } from "@earendil-works/pi-coding-agent";
import { colorToHex, rgbColor } from "@earendil-works/pi-tui";
export const run = () => {
  const dark = new Theme({ text: "", accent: "#102030" }, { userMessageBg: "#202020" }, "truecolor", { name: "mine" });
  const light = new Theme({ text: "#222222" }, {}, "truecolor");
  return [dark.appearance, light.appearance, colorToHex(dark.colors.accent), typeof dark.colors.text, dark.style("x", { fg: "accent", bg: rgbColor(1, 1, 1), italic: true })];
};"##;
    let value = run(source).await;
    assert_eq!(
        value,
        json!([
            "dark",
            "light",
            "#102030",
            "object",
            "\u{1b}[38;2;16;32;48m\u{1b}[48;2;1;1;1m\u{1b}[3mx\u{1b}[23m\u{1b}[49m\u{1b}[39m"
        ])
    );
}

#[tokio::test]
async fn settings_have_accessors_with_defaults_and_limits() {
    let source = r#"
import { SettingsManager } from "@earendil-works/pi-coding-agent";
const fails = (make) => { try { make(); return false; } catch { return true; } };
export const run = () => {
  const empty = SettingsManager.inMemory();
  const settings = SettingsManager.inMemory({
    tuiMode: "regular", outputPad: 7, quietStartup: "header", theme: "light/dark", defaultTools: ["+codemode", "-write", 3],
    terminal: { images: false, imageWidthCells: 0 }, fullscreenWheelScrollLines: 500, httpIdleTimeoutMs: "disabled",
    compaction: { reserveTokens: 5, modelOverrides: { "p/m": { keepRecentTokens: 7 } } }, retry: { maxRetries: 9 },
    extensions: ["a.ts"], modelThinkingLevels: { "p/m": "high" }, sessionShareDestination: "nowhere",
  });
  const bad = SettingsManager.inMemory({ compaction: { reserveTokens: -1 }, httpIdleTimeoutMs: "soon" });
  const defaults = [empty.getTuiMode(), empty.getOutputPad(), empty.getShowImages(), empty.getDefaultTools() ?? null, empty.getFullscreenScrollbar(),
    empty.getCacheWarmingMode(), empty.getMermaidRenderingMode(), empty.getExtensionPaths(), empty.getHttpIdleTimeoutMs(), empty.getQuietStartup(),
    empty.getSessionShareDestination(), empty.getTheme() ?? null, empty.getProviderRetrySettings().maxRetryDelayMs, empty.getWarnings()];
  const values = [settings.getTuiMode(), settings.getOutputPad(), settings.getQuietStartup(), settings.getTheme() ?? null, settings.getThemeSetting(),
    settings.getDefaultTools(), settings.getTerminalCapabilityOverrides(), settings.getImageWidthCells(), settings.getFullscreenWheelScrollLines(),
    settings.getHttpIdleTimeoutMs(), settings.getCompactionSettings({ provider: "p", id: "m" }), settings.getRetrySettings().maxRetries,
    settings.getExtensionPaths(), settings.getModelThinkingLevel("p", "m"), settings.getSessionShareDestination()];
  settings.setShowImages(false);
  settings.setEditorPaddingX(9);
  settings.setProjectSkillPaths(["s"]);
  settings.setExtensionChangelogVersion("k", "1.0");
  const id = settings.getOrCreateDeviceId();
  return {
    defaults,
    values,
    changed: [settings.getShowImages(), settings.getEditorPaddingX(), settings.getSkillPaths(), settings.getExtensionChangelogVersion("k"),
      settings.getOrCreateDeviceId() === id, settings.getSettings().terminal.showImages, settings.getGlobalSettings().terminal.showImages],
    invalid: [() => bad.getCompactionReserveTokens(), () => bad.getHttpIdleTimeoutMs()].map(fails),
  };
};"#;
    let compaction = json!({"enabled": true, "reserveTokens": 5, "keepRecentTokens": 7});
    let tools = json!(["read", "bash", "edit", "codemode"]);
    assert_eq!(
        run(source).await,
        json!({
            "defaults": ["fullscreen", 1, true, null, "auto", "streaming", "streaming", [], 300_000, false, "auto", null, 60_000, {}],
            "values": ["regular", 1, "header", null, "light/dark", tools, {"images": null}, 1, 100, 0, compaction, 9, ["a.ts"], "high", "auto"],
            "changed": [false, 3, ["s"], "1.0", true, false, false],
            "invalid": [true, true],
        })
    );
}
