//! Colors of an exported page, from a theme file.
//!
//! The page has a light and a dark scheme and follows the reader's preference. A theme may set
//! three backgrounds; the page then uses the scheme that matches them.

use std::fmt;

use pi_protocol::ThemeFile;
use serde_json::Value;

/// Maximum depth of variable references before they are treated as circular.
const MAX_REFERENCE_DEPTH: usize = 32;

/// Backgrounds of an exported page; `None` if the theme does not set them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportTheme {
    pub page_background: Option<ExportColor>,
    pub card_background: Option<ExportColor>,
    pub info_background: Option<ExportColor>,
    /// The scheme to use if no background determines it.
    pub scheme: Option<ExportScheme>,
}

/// A built-in color scheme of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportScheme {
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportColor {
    pub red: u8,
    pub green: u8,
    pub blue: u8,
}

/// The color scheme of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResolvedScheme {
    /// The reader's preference.
    Auto,
    Light,
    Dark,
}

impl ResolvedScheme {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl ExportTheme {
    /// Parses the `export` part of a theme file. Missing or invalid values stay unset.
    pub fn from_theme_json(json: &str) -> Self {
        let theme: Value = serde_json::from_str(json).unwrap_or_default();
        let color = |name: &str| resolve(theme.get("export")?.get(name)?, theme.get("vars"));
        Self {
            page_background: color("pageBg"),
            card_background: color("cardBg"),
            info_background: color("infoBg"),
            scheme: None,
        }
    }

    /// Resolves the `theme` setting: a theme file, or a built-in scheme. A light/dark pair follows
    /// the terminal, so the page follows its reader.
    pub fn from_setting(setting: Option<&str>, files: &[ThemeFile]) -> Self {
        let Some(name) = setting.filter(|setting| !setting.contains('/')) else {
            return Self::default();
        };
        if let Some(file) = files.iter().find(|file| file.name == name) {
            return Self::from_theme_json(&file.content);
        }
        Self {
            scheme: match name {
                "light" => Some(ExportScheme::Light),
                "dark" => Some(ExportScheme::Dark),
                _ => None,
            },
            ..Self::default()
        }
    }

    pub(super) fn resolved_scheme(&self) -> ResolvedScheme {
        match (self.page_background.or(self.card_background), self.scheme) {
            (None, None) => ResolvedScheme::Auto,
            (Some(background), _) if background.is_light() => ResolvedScheme::Light,
            (None, Some(ExportScheme::Light)) => ResolvedScheme::Light,
            (Some(_), _) | (None, Some(ExportScheme::Dark)) => ResolvedScheme::Dark,
        }
    }

    /// Returns the color scheme of a page with this theme: `auto`, `light` or `dark`.
    pub fn scheme_name(&self) -> &'static str {
        self.resolved_scheme().as_str()
    }

    /// Returns a style sheet that overrides the page's CSS variables.
    pub(super) fn style_sheet(&self) -> String {
        let variables = [
            ("--page", self.page_background),
            ("--card", self.card_background),
            ("--note", self.info_background),
        ];
        let set = variables
            .into_iter()
            .filter_map(|(name, color)| Some(format!("{name}:{};", color?)));
        let declarations: Vec<_> = set.collect();
        if declarations.is_empty() {
            return String::new();
        }
        let declarations = declarations.concat();
        format!(":root[data-colors=\"theme\"]{{{declarations}}}\n")
    }
}

impl ExportColor {
    /// Parses `#rrggbb` or `#rgb`.
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = match digits.len() {
            6 => number.to_be_bytes(),
            3 => {
                let [_, _, high, low] = number.to_be_bytes();
                [0, high * 17, (low >> 4) * 17, (low & 15) * 17]
            }
            _ => return None,
        };
        Some(Self { red, green, blue })
    }

    /// Returns a color of the 256-color terminal palette.
    pub fn from_palette(index: u8) -> Self {
        const BASIC: [u32; 16] = [
            0x00_0000, 0x80_0000, 0x00_8000, 0x80_8000, 0x00_0080, 0x80_0080, 0x00_8080, 0xc0_c0c0,
            0x80_8080, 0xff_0000, 0x00_ff00, 0xff_ff00, 0x00_00ff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
        ];
        if let Some(color) = BASIC.get(usize::from(index)) {
            let [_, red, green, blue] = color.to_be_bytes();
            return Self { red, green, blue };
        }
        if index >= 232 {
            let gray = 8 + (index - 232) * 10;
            return Self {
                red: gray,
                green: gray,
                blue: gray,
            };
        }
        let cube = index - 16;
        let level = |step: u8| if step == 0 { 0 } else { 55 + step * 40 };
        Self {
            red: level(cube / 36),
            green: level(cube / 6 % 6),
            blue: level(cube % 6),
        }
    }

    fn is_light(self) -> bool {
        let sum =
            u32::from(self.red) * 299 + u32::from(self.green) * 587 + u32::from(self.blue) * 114;
        sum > 127_500
    }
}

impl fmt::Display for ExportColor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "#{:02x}{:02x}{:02x}",
            self.red, self.green, self.blue
        )
    }
}

fn resolve(value: &Value, variables: Option<&Value>) -> Option<ExportColor> {
    let mut value = value;
    for _ in 0..MAX_REFERENCE_DEPTH {
        match value {
            Value::Number(index) => {
                let index = index.as_u64().and_then(|index| u8::try_from(index).ok());
                return index.map(ExportColor::from_palette);
            }
            Value::String(text) => match ExportColor::from_hex(text) {
                Some(color) => return Some(color),
                None => value = variables?.get(text)?,
            },
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use pi_protocol::{SourceInfo, SourceOrigin, SourceScope};
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn colors_are_parsed_in_every_notation() {
        let theme = ExportTheme::from_theme_json(
            r##"{"vars":{"a":"b","b":"#fff"},"export":{"pageBg":"a","cardBg":231,"infoBg":"#102030"}}"##,
        );
        assert_eq!(theme.resolved_scheme(), ResolvedScheme::Light);
        assert_eq!(
            theme.style_sheet(),
            ":root[data-colors=\"theme\"]{--page:#ffffff;--card:#ffffff;--note:#102030;}\n"
        );
    }

    #[test]
    fn invalid_colors_stay_unset() {
        for json in [
            "",
            "[]",
            r#"{"export":7}"#,
            r#"{"vars":{"a":"b","b":"a"},"export":{"pageBg":"a","cardBg":999,"infoBg":""}}"#,
            r##"{"export":{"pageBg":"red;}body{display:none","cardBg":"#12é","infoBg":"#+12345"}}"##,
        ] {
            let theme = ExportTheme::from_theme_json(json);
            assert_eq!(theme, ExportTheme::default(), "{json}");
            assert_eq!(theme.style_sheet(), "");
            assert_eq!(theme.resolved_scheme(), ResolvedScheme::Auto);
        }
    }

    #[test]
    fn the_setting_selects_a_file_or_a_scheme() {
        let file = ThemeFile {
            name: "sepia".to_owned(),
            path: "sepia.json".into(),
            content: r##"{"export": {"pageBg": "#fedcba"}}"##.to_owned(),
            source_info: SourceInfo {
                path: "sepia.json".into(),
                source: "auto".to_owned(),
                scope: SourceScope::User,
                origin: SourceOrigin::TopLevel,
                base_dir: None,
            },
        };
        let files = [file];
        let resolved_scheme =
            |setting| ExportTheme::from_setting(setting, &files).resolved_scheme();
        assert_eq!(resolved_scheme(None), ResolvedScheme::Auto);
        assert_eq!(resolved_scheme(Some("light/dark")), ResolvedScheme::Auto);
        assert_eq!(resolved_scheme(Some("unknown")), ResolvedScheme::Auto);
        assert_eq!(resolved_scheme(Some("dark")), ResolvedScheme::Dark);
        assert_eq!(resolved_scheme(Some("light")), ResolvedScheme::Light);
        assert_eq!(resolved_scheme(Some("sepia")), ResolvedScheme::Light);
        let sepia = ExportTheme::from_setting(Some("sepia"), &files);
        assert_eq!(sepia.page_background, ExportColor::from_hex("#fedcba"));
    }
}
