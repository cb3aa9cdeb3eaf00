//! The `system` theme: colors derived from those the terminal reports.
//!
//! A token has a family, which selects the hue from the terminal's palette, and a contrast that it must reach on
//! every surface it is drawn on. Surfaces are placed first, a step away from the background; the lightness of
//! everything else follows from them.

use super::{ColorMode, ColorToken, ExportColors, Theme, palette};
use crate::color_space::{Oklch, Rgb, contrast};
use crate::style::Color;
use crate::terminal::{ColorScheme, TEXT_CONTRAST, TerminalColors};

mod roles;

pub(super) use roles::is_secondary;
use roles::{Family, Role};

/// The name of the theme; no file may use it.
pub const SYSTEM_THEME: &str = "system";

/// Step of the search for a lightness.
const LIGHTNESS_STEP: f64 = 0.01;

/// Lightest a surface may be on a black background to be distinguishable.
const LEAST_SURFACE_LIGHTNESS: f64 = 0.2;

impl Theme {
    /// Derives the theme from what the terminal reports. Without a background, the theme uses palette indices and
    /// default colors, which are readable on any terminal.
    pub fn system(colors: &TerminalColors, scheme: ColorScheme, mode: ColorMode) -> Self {
        let background = match mode {
            ColorMode::TrueColor | ColorMode::Palette => colors.background,
            ColorMode::Basic | ColorMode::Plain => None,
        };
        let values = match background {
            Some(background) => SystemPalette::new(colors, background, scheme, mode).colors(),
            None => ColorToken::all()
                .map(|token| super::reduce(roles::indexed(token, scheme), mode))
                .collect(),
        };
        Self {
            name: SYSTEM_THEME.to_owned(),
            appearance: scheme,
            mode,
            colors: values,
            faint_secondary: background.is_none() && mode != ColorMode::Plain,
            export: ExportColors {
                page_background: background.map(|(red, green, blue)| Color::Rgb(red, green, blue)),
                ..ExportColors::default()
            },
        }
    }
}

/// Places colors around a known background.
struct SystemPalette<'a> {
    terminal: &'a TerminalColors,
    background: Rgb,
    scheme: ColorScheme,
    mode: ColorMode,
}

impl<'a> SystemPalette<'a> {
    fn new(
        terminal: &'a TerminalColors,
        background: Rgb,
        scheme: ColorScheme,
        mode: ColorMode,
    ) -> Self {
        Self {
            terminal,
            background,
            scheme: terminal.scheme().unwrap_or(scheme),
            mode,
        }
    }

    fn colors(&self) -> Vec<Color> {
        ColorToken::all()
            .map(|token| match roles::role(token) {
                Role::Surface { family, step } => self.written(self.surface(family, step)),
                Role::Text => self.text(),
                Role::Drawn {
                    family,
                    contrasts,
                    surfaces,
                } => self.written(self.drawn(family, contrasts, surfaces)),
            })
            .collect()
    }

    /// Returns the terminal's foreground where it is readable on all surfaces, otherwise a readable color.
    fn text(&self) -> Color {
        let surfaces: Vec<Rgb> = self.surfaces(roles::PANELS).collect();
        let is_readable = |foreground: Rgb| {
            let mut surfaces = surfaces.iter();
            surfaces.all(|surface| contrast(foreground, *surface) >= TEXT_CONTRAST)
        };
        if self.terminal.foreground.is_some_and(is_readable) {
            return Color::Default;
        }
        self.written(self.drawn(Family::Neutral, &[9.0, TEXT_CONTRAST], roles::PANELS))
    }

    /// Returns the first color that reaches one of the contrasts on all surfaces, preferring the first contrast.
    fn drawn(&self, family: Family, contrasts: &[f64], surfaces: &[ColorToken]) -> Rgb {
        let surfaces: Vec<Rgb> = self.surfaces(surfaces).collect();
        let base = self.family_color(family);
        let candidates = self.lightnesses(Oklch::from_rgb(self.background).lightness);
        let candidates: Vec<Rgb> = candidates
            .map(|lightness| self.shown(Oklch { lightness, ..base }))
            .collect();
        let found = contrasts.iter().find_map(|least| {
            let mut candidates = candidates.iter();
            candidates.find(|candidate| {
                let mut surfaces = surfaces.iter();
                surfaces.all(|surface| contrast(**candidate, *surface) >= *least)
            })
        });
        found.copied().unwrap_or(self.extreme())
    }

    /// Returns lightness values from the background's up to white, or down to black on a light background.
    fn lightnesses(&self, start: f64) -> impl Iterator<Item = f64> {
        let direction = self.direction();
        (0..=100_u8)
            .map(move |step| start + direction * LIGHTNESS_STEP * f64::from(step))
            .map(|lightness| lightness.clamp(0.0, 1.0))
    }

    /// Returns a background one step away from the terminal's. Text that is readable on the terminal's background
    /// must stay readable, so on a medium gray the step goes the other way.
    fn surface(&self, family: Family, step: f64) -> Rgb {
        let lightness = Oklch::from_rgb(self.background).lightness;
        let base = self.family_color(family);
        let toward_text = lightness + self.direction() * step;
        let toward_text = match self.scheme {
            ColorScheme::Dark => toward_text.max(LEAST_SURFACE_LIGHTNESS + step / 2.0),
            ColorScheme::Light => toward_text,
        };
        let tinted = |lightness: f64| {
            self.shown(Oklch {
                lightness,
                chroma: base.chroma.min(step * 0.6),
                hue: base.hue,
            })
        };
        let surface = tinted(toward_text);
        if contrast(self.extreme(), surface) >= TEXT_CONTRAST + 0.5 {
            surface
        } else {
            tinted(lightness - self.direction() * step)
        }
    }

    fn surfaces(&self, tokens: &'a [ColorToken]) -> impl Iterator<Item = Rgb> {
        let placed = tokens.iter().map(|token| match roles::role(*token) {
            Role::Surface { family, step } => self.surface(family, step),
            Role::Text | Role::Drawn { .. } => self.background,
        });
        std::iter::once(self.background).chain(placed)
    }

    /// Returns hue and chroma of a family: those of the palette entry, or its own where none is reported.
    fn family_color(&self, family: Family) -> Oklch {
        let slot = family.slot();
        let reported = slot.and_then(|slot| *self.terminal.palette.get(slot)?);
        reported.map_or_else(
            || family.own_color(),
            |rgb| {
                let color = Oklch::from_rgb(rgb);
                Oklch {
                    chroma: color.chroma.min(family.max_chroma()),
                    ..color
                }
            },
        )
    }

    /// Returns 1 if text is lighter than the background, -1 if it is darker.
    fn direction(&self) -> f64 {
        match self.scheme {
            ColorScheme::Dark => 1.0,
            ColorScheme::Light => -1.0,
        }
    }

    /// Returns the color with the most contrast.
    fn extreme(&self) -> Rgb {
        match self.scheme {
            ColorScheme::Dark => (255, 255, 255),
            ColorScheme::Light => (0, 0, 0),
        }
    }

    /// Returns the color as the terminal shows it, so that contrasts hold with 256 colors too.
    fn shown(&self, color: Oklch) -> Rgb {
        let rgb = color.to_rgb();
        match self.mode {
            ColorMode::Palette => {
                let (red, green, blue) = rgb;
                palette::entry_rgb(palette::nearest_palette_entry(red, green, blue))
            }
            ColorMode::TrueColor | ColorMode::Basic | ColorMode::Plain => rgb,
        }
    }

    fn written(&self, (red, green, blue): Rgb) -> Color {
        super::reduce(Color::Rgb(red, green, blue), self.mode)
    }
}

#[cfg(test)]
mod tests;
