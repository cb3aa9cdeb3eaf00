use pretty_assertions::assert_eq;
use serde_json::{Map, json};

use super::*;

/// Returns a complete theme without the optional tokens.
fn theme() -> Value {
    let colors: Map<String, Value> = ColorToken::all()
        .filter(|token| token.fallback().is_none())
        .map(|token| (token.name().to_owned(), json!("#808080")))
        .collect();
    json!({"name": "test", "vars": {}, "colors": colors})
}

fn parse(theme: &Value) -> Result<Theme, ThemeError> {
    Theme::from_json(&theme.to_string(), ColorMode::TrueColor)
}

fn message(theme: &Value) -> String {
    parse(theme).unwrap_err().to_string()
}

#[test]
fn every_color_form_is_parsed() {
    let mut source = theme();
    source["vars"] = json!({"base": "#0a141e", "alias": "base", "index": 7, "none": ""});
    for (token, value) in [
        ("accent", json!("#FF8000")),
        ("border", json!("#fa0")),
        ("borderMuted", json!("oklch(62.7955% 0.257683 29.2339)")),
        ("borderAccent", json!("okhsl(120 0% 50%)")),
        ("success", json!(42)),
        ("error", json!("")),
        ("warning", json!("alias")),
        ("muted", json!("index")),
        ("dim", json!("none")),
        ("selectedBg", json!("base")),
    ] {
        source["colors"][token] = value;
    }
    let parsed = parse(&source).unwrap();
    assert_eq!(parsed.name(), "test");
    assert_eq!(parsed.color(ColorToken::Accent), Color::Rgb(255, 128, 0));
    assert_eq!(parsed.color(ColorToken::Border), Color::Rgb(255, 170, 0));
    assert_eq!(parsed.color(ColorToken::BorderMuted), Color::Rgb(255, 0, 0));
    assert_eq!(
        parsed.color(ColorToken::BorderAccent),
        Color::Rgb(119, 119, 119)
    );
    assert_eq!(parsed.color(ColorToken::Success), Color::Indexed(42));
    assert_eq!(parsed.color(ColorToken::Error), Color::Default);
    assert_eq!(parsed.color(ColorToken::Warning), Color::Rgb(10, 20, 30));
    assert_eq!(parsed.color(ColorToken::Muted), Color::Indexed(7));
    assert_eq!(parsed.color(ColorToken::Dim), Color::Default);
    assert_eq!(
        parsed.style(ColorToken::SelectedBg).apply("x"),
        "\x1b[48;2;10;20;30mx\x1b[49m"
    );
    assert_eq!(
        parsed.style(ColorToken::Error).apply("x"),
        "\x1b[39mx\x1b[39m"
    );
}

#[test]
fn optional_tokens_fall_back() {
    let mut source = theme();
    source["colors"]["muted"] = json!(1);
    source["colors"]["text"] = json!(2);
    source["colors"]["selectedBg"] = json!(3);
    source["colors"]["thinkingXhigh"] = json!(4);
    source["colors"]["searchMatchText"] = json!(5);
    let parsed = parse(&source).unwrap();
    assert_eq!(parsed.color(ColorToken::ScrollbarTrack), Color::Indexed(1));
    assert_eq!(parsed.color(ColorToken::ScrollbarThumb), Color::Indexed(2));
    assert_eq!(parsed.color(ColorToken::SearchMatchBg), Color::Indexed(3));
    assert_eq!(parsed.color(ColorToken::ThinkingMax), Color::Indexed(4));
    assert_eq!(parsed.color(ColorToken::SearchMatchText), Color::Indexed(5));
}

#[test]
fn palette_mode_uses_the_nearest_entry() {
    let mut source = theme();
    source["colors"]["accent"] = json!("#ff0000");
    source["colors"]["toolSuccessBg"] = json!("#283228");
    source["colors"]["toolErrorBg"] = json!("#3c2828");
    source["export"] = json!({"pageBg": "#102030"});
    let text = format!("\u{feff}{source}");
    let parsed = Theme::from_json(&text, ColorMode::Palette).unwrap();
    assert_eq!(parsed.color(ColorToken::Accent), Color::Indexed(196));
    let panels = [ColorToken::ToolSuccessBg, ColorToken::ToolErrorBg];
    // The bright green of the color cube would make diffs unreadable.
    assert_eq!(
        panels.map(|token| parsed.color(token)),
        [236, 52].map(Color::Indexed)
    );
    assert_eq!(parsed.color(ColorToken::Border), Color::Indexed(244));
    let expected = ExportColors {
        page_background: Some(Color::Rgb(16, 32, 48)),
        ..ExportColors::default()
    };
    assert_eq!(parsed.export(), &expected);
}

#[test]
fn all_problems_are_reported_at_once() {
    let mut source = theme();
    source["name"] = json!("a/b");
    source["vars"] = json!({"one": "two", "two": "one"});
    source["colors"]["accent"] = json!("#12345");
    source["colors"]["border"] = json!("nowhere");
    source["colors"]["success"] = json!("one");
    source["colors"]["error"] = json!(256);
    source["colors"]["warning"] = json!(null);
    let colors = source["colors"].as_object_mut().unwrap();
    colors.remove("muted");
    colors.remove("text");
    colors.remove("bashMode");
    assert_eq!(
        message(&source),
        "invalid theme \"a/b\"
  colors: missing bashMode, muted, text
  name: `/` is reserved for light/dark pairs
  colors.accent: \"#12345\" is not a color; use #rrggbb, oklch(L C H), okhsl(H S% L%), 0 to 255, a variable, or \"\" for the default
  colors.border: unknown variable `nowhere`
  colors.success: circular variable reference
  colors.error: 256 is not a color; use #rrggbb, oklch(L C H), okhsl(H S% L%), 0 to 255, a variable, or \"\" for the default
  colors.warning: null is not a color; use #rrggbb, oklch(L C H), okhsl(H S% L%), 0 to 255, a variable, or \"\" for the default"
    );
}

#[test]
fn unknown_keys_are_rejected() {
    let mut source = theme();
    source["$schema"] = json!("https://pi.dev/schemas/theme.schema.json");
    source["appearance"] = json!("light");
    assert_eq!(parse(&source).unwrap().appearance(), ColorScheme::Light);
    source["appearance"] = json!("sepia");
    source["author"] = json!("me");
    source["colors"]["sparkle"] = json!(1);
    source["export"] = json!({"pageBackground": 1});
    source["name"] = json!("system");
    let text = message(&source);
    for part in [
        "name: `system`",
        "appearance: must be",
        "\n  author: unknown key",
        "colors.sparkle: unknown key",
        "export.pageBackground: unknown key",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn malformed_color_functions_are_rejected() {
    for value in [
        "oklch(1 2)",
        "oklch(62% 0.1 200 1)",
        "oklch(120% 0.1 200)",
        "oklch(62% -1 200)",
        "okhsl(250 60 55)",
        "okhsl(inf 60% 55%)",
    ] {
        let mut source = theme();
        source["colors"]["accent"] = json!(value);
        assert!(message(&source).contains("is not a color"), "{value}");
    }
}

#[test]
fn the_appearance_is_derived_from_the_colors() {
    let mut source = theme();
    source["colors"]["userMessageBg"] = json!("#f0f0f0");
    assert_eq!(parse(&source).unwrap().appearance(), ColorScheme::Light);
    source["colors"]["userMessageBg"] = json!("");
    source["colors"]["text"] = json!("#e0e0e0");
    assert_eq!(parse(&source).unwrap().appearance(), ColorScheme::Dark);
}

#[test]
fn invalid_documents_are_rejected() {
    assert!(matches!(
        Theme::from_json("{", ColorMode::TrueColor),
        Err(ThemeError::Json(_))
    ));
    assert_eq!(message(&json!([])), "theme is not a JSON object");
    assert!(message(&json!({"colors": 1})).contains("colors: must be an object"));
    assert!(message(&json!({})).contains("name: missing or not a string"));
    let mut circular = theme();
    circular["vars"] = json!({"self": "self"});
    circular["colors"]["text"] = json!("self");
    assert!(message(&circular).contains("circular"));
}
