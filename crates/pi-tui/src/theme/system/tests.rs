use super::*;
use pretty_assertions::assert_eq;

/// The palettes of well-known terminal themes: name, background, foreground, entries 0 to 7.
type Terminal = (&'static str, Rgb, Rgb, [Rgb; 8]);

const TERMINALS: [Terminal; 5] = [
    (
        "xterm",
        (0, 0, 0),
        (229, 229, 229),
        [
            (0, 0, 0),
            (205, 0, 0),
            (0, 205, 0),
            (205, 205, 0),
            (0, 0, 238),
            (205, 0, 205),
            (0, 205, 205),
            (229, 229, 229),
        ],
    ),
    (
        "solarized light",
        (253, 246, 227),
        (101, 123, 131),
        [
            (7, 54, 66),
            (220, 50, 47),
            (133, 153, 0),
            (181, 137, 0),
            (38, 139, 210),
            (211, 54, 130),
            (42, 161, 152),
            (238, 232, 213),
        ],
    ),
    (
        "solarized dark",
        (0, 43, 54),
        (131, 148, 150),
        [
            (7, 54, 66),
            (220, 50, 47),
            (133, 153, 0),
            (181, 137, 0),
            (38, 139, 210),
            (211, 54, 130),
            (42, 161, 152),
            (238, 232, 213),
        ],
    ),
    (
        "pastel",
        (30, 30, 46),
        (205, 214, 244),
        [
            (69, 71, 90),
            (243, 139, 168),
            (166, 227, 161),
            (249, 226, 175),
            (137, 180, 250),
            (245, 194, 231),
            (148, 226, 213),
            (186, 194, 222),
        ],
    ),
    (
        "gray",
        (0x75, 0x75, 0x75),
        (0x70, 0x70, 0x70),
        [(0x75, 0x75, 0x75); 8],
    ),
];

fn reported((_, background, foreground, entries): &Terminal) -> TerminalColors {
    let mut colors = TerminalColors {
        background: Some(*background),
        foreground: Some(*foreground),
        ..TerminalColors::default()
    };
    for (index, color) in colors.palette.iter_mut().enumerate() {
        *color = entries.get(index % 8).copied();
    }
    colors
}

fn rgb_of(color: Color, default: Rgb) -> Rgb {
    match color {
        Color::Default => default,
        Color::Indexed(index) => palette::entry_rgb(index),
        Color::Rgb(red, green, blue) => (red, green, blue),
    }
}

#[test]
fn text_is_readable_on_every_terminal() {
    for terminal in &TERMINALS {
        let (name, background, foreground, _) = terminal;
        let all = reported(terminal);
        let only_background = TerminalColors {
            background: Some(*background),
            ..TerminalColors::default()
        };
        for (colors, mode) in [
            (all, ColorMode::TrueColor),
            (all, ColorMode::Palette),
            (only_background, ColorMode::TrueColor),
            (only_background, ColorMode::Palette),
        ] {
            let scheme = colors.scheme().unwrap();
            let theme = Theme::system(&colors, scheme, mode);
            let surfaces = roles::PANELS.iter().map(|token| theme.color(*token));
            for surface in std::iter::once(Color::Default).chain(surfaces) {
                let surface = rgb_of(surface, *background);
                for token in [
                    ColorToken::Text,
                    ColorToken::UserMessageText,
                    ColorToken::ToolTitle,
                    ColorToken::Accent,
                    ColorToken::Error,
                    ColorToken::Muted,
                    ColorToken::ToolOutput,
                    ColorToken::MdLink,
                    ColorToken::SyntaxComment,
                ] {
                    let ratio = contrast(rgb_of(theme.color(token), *foreground), surface);
                    assert!(
                        ratio >= TEXT_CONTRAST,
                        "{name} {mode:?} {token:?} on {surface:?}: {ratio:.2}"
                    );
                }
            }
        }
    }
}

#[test]
fn hues_are_those_of_the_terminal() {
    for terminal in TERMINALS.iter().take(4) {
        let (name, .., entries) = terminal;
        let colors = reported(terminal);
        let theme = Theme::system(&colors, colors.scheme().unwrap(), ColorMode::TrueColor);
        for (token, slot) in [(ColorToken::Error, 1), (ColorToken::MdLink, 4)] {
            let shown = Oklch::from_rgb(rgb_of(theme.color(token), (0, 0, 0)));
            let entry = Oklch::from_rgb(entries[slot]);
            let distance = (shown.hue - entry.hue).abs();
            let distance = distance.min(360.0 - distance);
            assert!(distance < 8.0, "{name} {token:?}: {distance}");
        }
    }
}

#[test]
fn panels_differ_from_the_background() {
    for terminal in &TERMINALS {
        let (name, background, ..) = terminal;
        let colors = reported(terminal);
        let theme = Theme::system(&colors, colors.scheme().unwrap(), ColorMode::TrueColor);
        for token in roles::PANELS {
            let panel = rgb_of(theme.color(*token), *background);
            let distance =
                Oklch::from_rgb(panel).lightness - Oklch::from_rgb(*background).lightness;
            assert!(distance.abs() > 0.03, "{name} {token:?}: {distance}");
        }
    }
}

#[test]
fn without_reports_the_terminal_chooses_the_colors() {
    let unknown = TerminalColors::default();
    let theme = Theme::system(&unknown, ColorScheme::Dark, ColorMode::TrueColor);
    assert_eq!(theme.name(), SYSTEM_THEME);
    assert_eq!(theme.color(ColorToken::Text), Color::Default);
    assert_eq!(theme.color(ColorToken::Error), Color::Indexed(1));
    assert_eq!(theme.color(ColorToken::UserMessageBg), Color::Default);
    assert!(theme.style(ColorToken::Muted).dim);
    assert!(!theme.style(ColorToken::Text).dim);
    let plain = Theme::system(&unknown, ColorScheme::Dark, ColorMode::Plain);
    assert_eq!(plain.color(ColorToken::Error), Color::Default);
    let basic = Theme::system(
        &reported(&TERMINALS[0]),
        ColorScheme::Dark,
        ColorMode::Basic,
    );
    for token in ColorToken::all() {
        let color = basic.color(token);
        assert!(
            matches!(color, Color::Default | Color::Indexed(0..=15)),
            "{token:?}: {color:?}"
        );
    }
}

#[test]
fn bright_palette_colors_are_avoided_on_a_light_background() {
    let heading = |scheme| {
        let theme = Theme::system(&TerminalColors::default(), scheme, ColorMode::Basic);
        theme.color(ColorToken::MdHeading)
    };
    assert_eq!(heading(ColorScheme::Dark), Color::Indexed(3));
    assert_eq!(heading(ColorScheme::Light), Color::Indexed(5));
}
